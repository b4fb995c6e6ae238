// SPDX-License-Identifier: Apache-2.0
//
// LLVM IR to PTX: parse, link what libdevice has to give, optimise, refuse what stays unresolved, generate. LLVM's
// types stay in this file.

#include "generator.h"

#include "core/base/text.h"
#include "core/kernel/diskroom.h"
#include "core/kernel/source.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <set>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace slipway {

namespace {

constexpr const char *gpuTriple = "nvptx64-nvidia-cuda";
constexpr int generatorRevision = 1;

std::function<void(const char *)> &fatalHandler() {
    static std::function<void(const char *)> handler;
    return handler;
}

const llvm::Target *gpuTarget() {
    std::string error;
#if LLVM_VERSION_MAJOR >= 22
    return llvm::TargetRegistry::lookupTarget(llvm::Triple(gpuTriple), error);
#else
    return llvm::TargetRegistry::lookupTarget(gpuTriple, error);
#endif
}

void setGpuTriple(llvm::Module &module) {
#if LLVM_VERSION_MAJOR >= 21
    module.setTargetTriple(llvm::Triple(gpuTriple));
#else
    module.setTargetTriple(gpuTriple);
#endif
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const WorkerJob &job) {
    const auto level =
        std::array{llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less, llvm::CodeGenOptLevel::Default,
                   llvm::CodeGenOptLevel::Aggressive}[std::size_t(job.opt)];
#if LLVM_VERSION_MAJOR >= 21
    const llvm::Triple triple(gpuTriple);
#else
    const llvm::StringRef triple(gpuTriple);
#endif
    return std::unique_ptr<llvm::TargetMachine>(
        gpuTarget()->createTargetMachine(triple, job.capability.sm(), fmt::format("+ptx{}", job.ptx.code()),
                                         llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, level));
}

WorkerDescription describeLlvm() {
    WorkerDescription description{.llvm = LLVM_VERSION_STRING, .revision = generatorRevision};
    const std::unique_ptr<llvm::MCSubtargetInfo> info(
#if LLVM_VERSION_MAJOR >= 22
        gpuTarget()->createMCSubtargetInfo(llvm::Triple(gpuTriple), "", ""));
#else
        gpuTarget()->createMCSubtargetInfo(gpuTriple, "", ""));
#endif
    for (const auto &cpu : info->getAllProcessorDescriptions()) {
        if (auto capability = Capability::parse(cpu.Key); capability && capability->sm() == cpu.Key)
            description.capabilities.push_back(*capability);
    }
    for (const auto &feature : info->getAllProcessorFeatures()) {
        const std::string_view name = feature.Key;
        if (const auto code = parseNumber(name.substr(std::min<std::size_t>(3, name.size())));
            name.starts_with("ptx") && code)
            description.ptxVersions.push_back(PtxVersion::fromCode(int(*code)));
    }
    std::sort(description.capabilities.begin(), description.capabilities.end());
    std::sort(description.ptxVersions.begin(), description.ptxVersions.end());
    return description;
}

/// The functions that a host can launch. Before LLVM 20 the reader leaves the old marking, !nvvm.annotations, as it is.
std::set<const llvm::Function *> kernelsOf(const llvm::Module &module) {
    std::set<const llvm::Function *> kernels;
    for (const auto &function : module) {
        if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
            kernels.insert(&function);
    }
    const auto *annotations = module.getNamedMetadata("nvvm.annotations");
    for (unsigned i = 0; annotations && i < annotations->getNumOperands(); ++i) {
        const auto *node = annotations->getOperand(i);
        const auto *value =
            node->getNumOperands() > 1 ? llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0)) : nullptr;
        const auto *function = value ? llvm::dyn_cast<llvm::Function>(value->getValue()) : nullptr;
        for (unsigned key = 1; function && key < node->getNumOperands(); ++key) {
            const auto *text = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(key));
            if (text && text->getString() == "kernel" && !function->isDeclaration())
                kernels.insert(function);
        }
    }
    return kernels;
}

/// `maxnreg` of the options, unless the source says it for the kernel itself.
void limitRegisters(llvm::Module &module, int most) {
    for (const auto *kernel : kernelsOf(module)) {
        auto *function = module.getFunction(kernel->getName());
        if (!function->hasFnAttribute("nvvm.maxnreg"))
            function->addFnAttr("nvvm.maxnreg", std::to_string(most));
#if LLVM_VERSION_MAJOR < 21
        auto &context = module.getContext();
        auto *number = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), std::uint64_t(most));
        module.getOrInsertNamedMetadata("nvvm.annotations")
            ->addOperand(llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(function),
                                                     llvm::MDString::get(context, "maxnreg"),
                                                     llvm::ConstantAsMetadata::get(number)}));
#endif
    }
}

bool callsLibdevice(const llvm::Module &module) {
    return std::any_of(module.begin(), module.end(), [](const llvm::Function &function) {
        return function.isDeclaration() && function.getName().starts_with("__nv_") && !function.use_empty();
    });
}

Result<void> linkLibdevice(llvm::Module &module, const fs::path &file) {
    auto buffer = llvm::MemoryBuffer::getFile(file.string());
    if (!buffer)
        return fail("cannot read {}: {}", file.string(), buffer.getError().message());
    auto library = llvm::getOwningLazyBitcodeModule(std::move(*buffer), module.getContext());
    if (!library)
        return fail("cannot read {}: {}", file.string(), llvm::toString(library.takeError()));
    setGpuTriple(**library);
    (*library)->setDataLayout(module.getDataLayout());
    if (!module.getModuleFlag("nvvm-reflect-ftz")) // denormals stay unless the source says otherwise
        module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", std::uint32_t(0));
    if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
        return fail("cannot link {}", file.string());
    return {};
}

/// Everything but kernels and variables that a host may look up becomes private, so that unused code goes.
void internalise(llvm::Module &module) {
    const auto kernels = kernelsOf(module);
    llvm::internalizeModule(module, [&kernels](const llvm::GlobalValue &value) {
        if (const auto *function = llvm::dyn_cast<llvm::Function>(&value))
            return kernels.contains(function);
        return true;
    });
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine, int level) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
    const auto levels = std::array{llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                   llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
    auto passes = level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                             : builder.buildPerModuleDefaultPipeline(levels[std::size_t(level)]);
    passes.run(module, modules);
}

std::vector<std::string> unresolvedOf(const llvm::Module &module) {
    std::vector<std::string> names;
    for (const auto &function : module) {
        if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
            !driverProvides(function.getName().str()))
            names.push_back(function.getName().str());
    }
    for (const auto &global : module.globals()) { // an extern in shared memory (3) is sized at the launch
        if (global.isDeclaration() && !global.use_empty() && global.getAddressSpace() != 3)
            names.push_back(global.getName().str());
    }
    return names;
}

Result<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine) {
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
        return fail("this LLVM cannot write assembly for {}", gpuTriple);
    passes.run(module);
    return std::string(text.begin(), text.end());
}

/// The label must be what was asked for: some versions of LLVM raise it, or ignore the request, without a word.
Result<void> checkLabel(std::string_view ptx, const WorkerJob &job) {
    const auto version = fmt::format(".version {}\n", job.ptx.text());
    const auto target = fmt::format(".target {}", job.capability.sm());
    const auto at = ptx.find("\n.version ");
    const auto line = at == std::string_view::npos ? std::string_view() : ptx.substr(at + 1);
    if (!line.starts_with(version))
        return fail("LLVM labels the PTX \"{}\", needed \".version {}\"", printable(line.substr(0, line.find('\n'))),
                    job.ptx.text());
    if (!line.substr(version.size()).starts_with(target))
        return fail("LLVM did not write \"{}\"", target);
    return {};
}

std::string metaLines(const WorkerJob &job, const std::vector<std::string> &entries) {
    std::string text;
    if (!job.id.empty())
        text += fmt::format("// meta:id={}\n", job.id);
    if (entries.size() == 1)
        text += fmt::format("// meta:name={}\n", entries.front());
    for (const auto &[key, value] : job.meta)
        text += fmt::format("// meta:{}={}\n", printable(key), printable(value));
    return text;
}

/// Gathers what LLVM reports as errors; they do not always come back as a return value.
void collectErrors(const llvm::DiagnosticInfo *info, void *errors) {
    if (info->getSeverity() != llvm::DS_Error)
        return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    static_cast<std::vector<std::string> *>(errors)->push_back(stream.str());
}

} // namespace

/// A parsed source and the context that owns its types.
struct Generator::Source {
    fs::path file;
    fs::file_time_type modified;
    llvm::LLVMContext context;
    std::vector<std::string> errors;
    std::unique_ptr<llvm::Module> module;
};

Generator::Generator() {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    m_description = describeLlvm();
}

Generator::~Generator() = default;

void Generator::onFatalError(std::function<void(const char *)> handler) {
    fatalHandler() = std::move(handler);
    llvm::install_fatal_error_handler([](void *, const char *reason, bool) { fatalHandler()(reason); });
}

Result<void> Generator::load(const fs::path &input) {
    std::error_code error;
    const auto modified = fs::last_write_time(input, error);
    if (error)
        return fail("cannot read {}: {}", printable(input.string()), error.message());
    if (m_source && m_source->file == input && m_source->modified == modified)
        return {};
    auto source = std::make_unique<Source>();
    source->file = input;
    source->modified = modified;
    source->context.setDiagnosticHandlerCallBack(collectErrors, &source->errors);
    llvm::SMDiagnostic diagnostic;
    source->module = llvm::parseIRFile(input.string(), diagnostic, source->context);
    if (!source->module)
        return fail("line {}, column {}: {}", diagnostic.getLineNo(), diagnostic.getColumnNo() + 1,
                    printable(diagnostic.getMessage().str()));
    const llvm::Triple triple(source->module->getTargetTriple());
    if (!triple.str().empty() && triple.getArch() != llvm::Triple::nvptx64)
        return std::unexpected(
            Error{.message = fmt::format("the module is for {}, needed {}", printable(triple.str()), gpuTriple),
                  .hint = "compile it as device code, or remove its target triple"});
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyModule(*source->module, &stream))
        return fail("the module is not valid: {}", printable(stream.str()));
    m_source = std::move(source);
    return {};
}

Result<void> Generator::translate(const WorkerJob &job, WorkerResult &result) {
    TRY(m_description.check(job.capability, job.ptx));
    TRY(load(job.input));
    m_source->errors.clear();
    const auto machine = targetMachine(job);
    const auto module = llvm::CloneModule(*m_source->module);
    setGpuTriple(*module);
    module->setDataLayout(machine->createDataLayout());
    for (const auto *kernel : kernelsOf(*module))
        result.entries.push_back(kernel->getName().str());
    std::sort(result.entries.begin(), result.entries.end());
    if (result.entries.empty())
        return fail("it holds no kernel (needed a function marked ptx_kernel)");
    if (job.maxRegisters)
        limitRegisters(*module, *job.maxRegisters);
    if (!job.libdevice.empty() && callsLibdevice(*module)) {
        TRY(linkLibdevice(*module, job.libdevice));
        result.usedLibdevice = true;
    }
    internalise(*module);
    optimise(*module, *machine, job.opt);
    result.unresolved = unresolvedOf(*module);
    if (!result.unresolved.empty())
        return std::unexpected(Error{
            .message = fmt::format("unresolved: {}", fmt::join(result.unresolved, ", ")),
            .hint = job.libdevice.empty() && result.unresolved.front().starts_with("__nv_")
                        ? "functions that begin with __nv_ are in CUDA's libdevice.10.bc: install the CUDA toolkit"
                        : "define it in the same source, or link it in before"});
    const auto ptx = TRY(emitPtx(*module, *machine));
    if (!m_source->errors.empty())
        return fail("{}", printable(m_source->errors.front()));
    TRY(checkLabel(ptx, job));
    auto written = writeFileAtomically(job.output, metaLines(job, result.entries) + ptx, 0644, Durable::no);
    if (!written && isDiskFull(written.error()))
        return std::unexpected(std::move(written).error().hinted(roomHint));
    result.outputFailed = !written;
    return written;
}

WorkerResult Generator::generate(const WorkerJob &job) {
    WorkerResult result{.input = job.input, .output = job.output};
    const auto began = std::chrono::steady_clock::now();
    if (auto done = translate(job, result); done) {
        result.ok = true;
    } else {
        result.error = std::move(done.error().message);
        result.hint = std::move(done.error().hint);
        result.detail = std::move(done.error().detail);
    }
    result.milliseconds =
        int(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began).count());
    return result;
}

} // namespace slipway
