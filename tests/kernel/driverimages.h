// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace slipway {

/// Makes the images of tests/data/h200-driver-matrix.txt again from their names. Those that came out of ptxas are the
/// committed cubins of tests/data/images, whose SM is changed where there is none for it: a driver and our reader both
/// decide by the header.
class DriverImages {
public:
    /// The image, or nothing when its name does not tell what is in it.
    [[nodiscard]] static std::string make(const std::string &name) {
        const auto stem = name.substr(0, name.rfind('.'));
        if (name.ends_with(".cubin"))
            return cubinCalled(stem);
        if (name.ends_with(".fatbin"))
            return fatbinCalled(stem);
        if (stem.starts_with("trunc_"))
            return ptx("8.2", "sm_90").substr(0, std::stoul(stem.substr(6)));
        if (stem.starts_with("v") && stem.find('_') != std::string::npos && stem.find("sm_90x") == std::string::npos) {
            const auto at = stem.find('_');
            auto target = stem.substr(at + 1);
            if (const auto plus = target.find('+'); plus != std::string::npos)
                target.replace(plus, 1, ", ");
            if (stem[1] >= '0' && stem[1] <= '9')
                return ptx(stem.substr(1, at - 1), target);
        }
        const auto text = textCalled(stem);
        return text.empty() ? otherCalled(stem) : text;
    }

    static std::string ptx(const std::string &version, const std::string &target, const std::string &body = kernel()) {
        return fmt::format(".version {}\n.target {}\n.address_size 64\n{}", version, target, body);
    }

    static std::string cubin(const std::string &sm) {
        const auto own = read("scale_sm_" + sm + ".cubin");
        if (!own.empty())
            return own;
        auto bytes = read(std::stoi(sm) >= 100 ? "scale_sm_110.cubin" : "scale_sm_90.cubin");
        bytes[offsetof(Elf64_Ehdr, e_flags) + 1] = char(std::stoi(sm)); // bits 8 to 15 in this format
        return bytes;
    }

private:
    static std::string read(const std::string &name) {
        return readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images" / name).value_or("");
    }

    static std::string kernel() {
        return "\n.visible .entry k(.param .u64 p)\n{\n    .reg .b64 %rd<3>;\n    .reg .b32 %r<2>;\n"
               "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd2, %rd1;\n    mov.u32 %r1, 7;\n"
               "    st.global.u32 [%rd2], %r1;\n    ret;\n}\n";
    }
    static std::string kernelWith(const std::string &from, const std::string &to) {
        auto text = kernel();
        return text.replace(text.find(from), from.size(), to);
    }
    static std::string calling(const std::string &declarations, const std::string &function) {
        return ptx("8.2", "sm_90",
                   fmt::format("{}\n.visible .entry k(.param .u64 p)\n{{\n    .param .b32 a;\n    .param .b32 r;\n"
                               "    call.uni (r), {}, (a);\n    ret;\n}}\n",
                               declarations, function));
    }

    static std::string textCalled(const std::string &name) {
        const std::string fma = ".extern .func (.param .b32 r) __nv_fmaf (.param .b32 a);\n";
        const auto whole = ptx("8.2", "sm_90");
        if (name == "bad_instr")
            return ptx("8.2", "sm_90", kernelWith("mov.u32 %r1, 7", "frobnicate"));
        if (name == "undefined_reg")
            return ptx("8.2", "sm_90", kernelWith("mov.u32 %r1", "mov.u32 %r9"));
        if (name == "needs_newer")
            return ptx("7.0", "sm_80", kernelWith("mov.u32 %r1, 7", "mbarrier.try_wait.shared.b64 q, [%rd1], %rd2"));
        if (name == "dup_entry")
            return whole + kernel();
        if (name == "extern" || name == "extern_two")
            return calling(fma, "__nv_fmaf");
        if (name == "extern_unused")
            return ptx("8.2", "sm_90", fma + kernel());
        if (name == "extern_vprintf")
            return calling(".extern .func (.param .b32 r) vprintf (.param .b32 a);\n", "vprintf");
        if (name == "extern_global")
            return ptx("8.2", "sm_90",
                       ".extern .global .u32 gg;\n" + kernelWith("mov.u32 %r1, 7", "ld.global.u32 %r1, [gg]"));
        if (name == "extern_shared")
            return ptx("8.2", "sm_90", ".extern .shared .align 16 .b8 smem[];\n" + kernel());
        if (name == "extra_brace")
            return whole + "}\n";
        if (name == "no_close")
            return whole.substr(0, whole.rfind('}'));
        return headerCalled(name);
    }

    static std::string headerCalled(const std::string &name) {
        const auto whole = ptx("8.2", "sm_90");
        if (name == "addr32")
            return ".version 8.2\n.target sm_90\n.address_size 32\n" + kernel();
        if (name == "noaddr")
            return ".version 8.2\n.target sm_90\n" + kernel();
        if (name == "bom")
            return "\xef\xbb\xbf" + whole;
        if (name == "crlf") {
            std::string text;
            for (const char c : whole)
                text += c == '\n' ? std::string("\r\n") : std::string(1, c);
            return text;
        }
        if (name == "header_only")
            return ".version 8.2\n.target sm_90\n.address_size 64\n";
        if (name == "lead_comment")
            return "//\n// hello\n/* x\n y */\n\n" + ptx("9.1", "sm_90");
        if (name == "no_target" || name == "no_target2")
            return ".version 8.2\n" + kernel();
        if (name == "no_version")
            return ".target sm_90\n.address_size 64\n" + kernel();
        if (name == "ver_low_a")
            return ptx("7.8", "sm_90a");
        return name == "version_only" ? ".version 8.2\n" : "";
    }

    static std::string otherCalled(const std::string &name) {
        if (name == "html")
            return "<!DOCTYPE html>\n<html><body>404</body></html>\n";
        if (name == "lfs")
            return "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n";
        if (name == "text_hello")
            return "hello world\n";
        if (name == "text_space")
            return "   \n\n  ";
        if (name == "ff")
            return std::string(4096, '\xff');
        if (name == "nul" || name == "zero")
            return std::string(name == "nul" ? 4096 : 0, '\0');
        return name == "e_true" ? readHead("/proc/self/exe", 65536).value_or("") : "";
    }

    static std::string cubinCalled(const std::string &name) {
        if (name.starts_with(
                "ct_")) { // cut off; that of the test was 3440 bytes long, with 56-byte segments at the end
            const auto whole = cubin("90");
            const auto length = std::stoul(name.substr(3));
            return whole.substr(0, length == 1720  ? whole.size() / 2
                                   : length > 3000 ? whole.size() - 3440 + length
                                                   : length);
        }
        auto bytes = cubin(name == "c_flag87"                              ? "90"
                           : name.starts_with("c_abi7") || name == "c_x86" ? "90"
                                                                           : name.substr(2));
        if (name == "c_flag87")
            bytes[offsetof(Elf64_Ehdr, e_flags) + 1] = 87;
        if (name == "c_x86")
            bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
        if (name == "c_abi7_90") {
            bytes[EI_OSABI] = 0x33;
            bytes[EI_ABIVERSION] = 7;
            const std::uint32_t flags = 0x00500500U | 90;
            std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
        }
        return bytes;
    }

    template <typename T>
    static void append(std::string &to, T value) {
        to.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    static std::string member(std::uint16_t kind, std::uint32_t sm, std::string data, int version = 18) {
        data.resize((data.size() + 7) / 8 * 8);
        std::string bytes;
        append(bytes, kind);
        append(bytes, std::uint16_t(0x101));
        append(bytes, std::uint32_t(0x40));
        append(bytes, std::uint64_t(data.size()));
        append(bytes, std::uint64_t(0));
        append(bytes, std::uint16_t(version % 10));
        append(bytes, std::uint16_t(version / 10));
        append(bytes, sm);
        append(bytes, std::uint64_t(0));
        append(bytes, std::uint64_t(0x11));
        append(bytes, std::uint64_t(0));
        append(bytes, std::uint64_t(0));
        return bytes + data;
    }
    static std::string fatbin(const std::string &members) {
        std::string bytes;
        append(bytes, std::uint32_t(0xBA55ED50));
        append(bytes, std::uint16_t(1));
        append(bytes, std::uint16_t(16));
        append(bytes, std::uint64_t(members.size()));
        return bytes + members;
    }
    static std::string fatbinCalled(const std::string &name) {
        const auto c80 = member(2, 80, cubin("80"));
        const auto ptx80 = member(1, 80, ptx("8.2", "sm_80"), 82);
        if (name == "f_80")
            return fatbin(c80);
        if (name == "f_80_90" || name == "ft_half") {
            const auto whole = fatbin(c80 + member(2, 90, cubin("90")));
            return name == "f_80_90" ? whole : whole.substr(0, whole.size() / 2);
        }
        if (name == "f_87ptx80")
            return fatbin(member(2, 87, cubin("87")) + ptx80);
        if (name == "f_ptx80")
            return fatbin(ptx80);
        return name == "f_ptx120" ? fatbin(member(1, 120, ptx("8.7", "sm_120"), 87)) : "";
    }
};

} // namespace slipway
