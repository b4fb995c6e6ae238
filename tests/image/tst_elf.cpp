// SPDX-License-Identifier: Apache-2.0
//
// ELF files as the cross compiler makes them now, and broken by hand.

#include "core/base/process.h"
#include "core/image/elfimage.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <random>

using namespace slipway;

namespace {

const SymbolVersion *versionNamed(const ElfImage &image, std::string_view version) {
    const auto found =
        std::find_if(image.versions.begin(), image.versions.end(), [&](const auto &v) { return v.version == version; });
    return found == image.versions.end() ? nullptr : &*found;
}

bool has(const std::vector<std::string> &list, std::string_view one) {
    return std::find(list.begin(), list.end(), one) != list.end();
}

} // namespace

class TestElf : public QObject {
    Q_OBJECT

    QTemporaryDir m_dir;
    [[nodiscard]] fs::path at(const std::string &name) const { return fs::path(m_dir.path().toStdString()) / name; }

    void compile(const std::string &output, const std::string &code, std::vector<std::string> flags,
                 const char *compiler = "aarch64-linux-gnu-gcc") {
        QVERIFY(writeFileAtomically(at("a.c"), code).has_value());
        std::vector<std::string> arguments = {"-o", output, "a.c"};
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        Progress silent;
        const auto made = runChecked({.program = compiler, .arguments = arguments, .directory = at("")}, silent);
        QVERIFY2(made.has_value(), made ? "" : (made.error().message + made.error().detail).c_str());
    }

private Q_SLOTS:
    void initTestCase() {
        const auto map =
            writeFileAtomically(at("v.map"), "TWICE_1.0 { global: twice; local: *; };\nTWICE_1.1 { } TWICE_1.0;\n");
        QVERIFY(map.has_value());
        compile("lib.so", "int twice(int n) { return 2 * n; }",
                {"-shared", "-fPIC", "-Wl,-soname,libtwice.so.1", "-Wl,--version-script,v.map"});
    }

    void aProgramTellsWhatItNeeds() {
        compile("prog",
                "#include <math.h>\n#include <pthread.h>\nint twice(int);\nstatic void *f(void *p) { return p; }\n"
                "int main(int c, char **v) { (void)v; pthread_t t; pthread_create(&t, 0, f, 0); return twice(c) + "
                "(int)pow(c, c); }",
                {"lib.so", "-lm", "-Wl,-rpath,/opt/a:$ORIGIN/../lib", "-Wl,--enable-new-dtags"});
        const auto image = readElfFile(at("prog"));
        QVERIFY2(image.has_value(), image ? "" : image.error().message.c_str());
        QVERIFY2(image->damage.empty(), image->damage.empty() ? "" : image->damage[0].c_str());
        QCOMPARE(image->machine, std::string("aarch64"));
        QCOMPARE(image->bits, 64);
        QVERIFY(image->littleEndian);
        QCOMPARE(image->type, std::string("executable"));
        QCOMPARE(image->interpreter, std::string("/lib/ld-linux-aarch64.so.1"));
        QVERIFY(has(image->needed, "libtwice.so.1"));
        QVERIFY(has(image->needed, "libc.so.6"));
        QCOMPARE(image->runpath, (std::vector<std::string>{"/opt/a", "$ORIGIN/../lib"}));
        QVERIFY(image->rpath.empty());
        QVERIFY(!image->isStatic);
        QVERIFY(!image->hasFatbin);
        const auto *start = versionNamed(*image, "GLIBC_2.34"); // Debian 12's start-up code
        QVERIFY(start);
        QCOMPARE(start->library, std::string("libc.so.6"));
        QVERIFY(has(start->symbols, "__libc_start_main"));
        QVERIFY(has(start->symbols, "pthread_create"));
        QVERIFY(!start->weak);
        const auto *math = versionNamed(*image, "GLIBC_2.29");
        QVERIFY(math && has(math->symbols, "pow"));
        const auto *own = versionNamed(*image, "TWICE_1.0");
        QVERIFY(own && has(own->symbols, "twice"));
    }

    void aLibraryTellsWhatItOffers() {
        compile("lib.so", "int twice(int n) { return 2 * n; }",
                {"-shared", "-fPIC", "-Wl,-soname,libtwice.so.1", "-Wl,--version-script,v.map", "-Wl,-rpath,/opt/old",
                 "-Wl,--disable-new-dtags"});
        const auto image = readElfFile(at("lib.so"));
        QVERIFY(image.has_value());
        QCOMPARE(image->type, std::string("shared object"));
        QCOMPARE(image->soname, std::string("libtwice.so.1"));
        QCOMPARE(image->defines, (std::set<std::string>{"TWICE_1.0", "TWICE_1.1"}));
        QCOMPARE(image->rpath, std::vector<std::string>{"/opt/old"});
        QVERIFY(image->runpath.empty());
        QVERIFY(image->interpreter.empty());
        QVERIFY(!image->isStatic);
    }

    void otherKindsAreToldApart() {
        compile("static", "int main(void) { return 0; }", {"-static"});
        auto image = readElfFile(at("static"));
        QCOMPARE(image->type, std::string("executable"));
        QVERIFY(image->isStatic);
        compile("static-pie", "int main(void) { return 0; }", {"-static-pie"});
        image = readElfFile(at("static-pie"));
        QCOMPARE(image->type, std::string("executable"));
        QVERIFY(image->isStatic);
        compile("object.o", "int main(void) { return 0; }", {"-c"});
        image = readElfFile(at("object.o"));
        QCOMPARE(image->type, std::string("relocatable"));
        QVERIFY(!image->isStatic);
        compile("host", "int main(void) { return 0; }", {}, "gcc");
        image = readElfFile(at("host"));
        QCOMPARE(image->machine, std::string("x86_64"));
        QCOMPARE(image->interpreter, std::string("/lib64/ld-linux-x86-64.so.2"));
        const auto libc = readElfFile("/usr/aarch64-linux-gnu/lib/libc.so.6");
        QVERIFY(libc.has_value());
        QCOMPARE(libc->type, std::string("shared object")); // though it has an interpreter
        QVERIFY(libc->defines.contains("GLIBC_2.36"));
    }

    void aWeakVersionNeedIsToldApart() {
        compile("weak", "int twice(int);\nint main(void) { return twice(2); }", {"lib.so"});
        auto bytes = *readFile(at("weak"));
        QVERIFY(!versionNamed(*readElf(bytes), "TWICE_1.0")->weak);
        // Binutils 2.40 does not write the flag, so it is set here: an entry begins with the name's hash, then two
        // bytes of flags.
        std::uint32_t hash = 0;
        for (const char c : std::string_view("TWICE_1.0")) { // System V ABI, ELF hash
            hash = (hash << 4) + std::uint8_t(c);
            hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
        }
        const auto entry = bytes.find(std::string(reinterpret_cast<const char *>(&hash), 4));
        QVERIFY(entry != std::string::npos);
        bytes[entry + 4] = 2;
        QVERIFY(versionNamed(*readElf(bytes), "TWICE_1.0")->weak);
    }

    void whatIsNoElfIsRefused() {
        QVERIFY(writeFileAtomically(at("script"), "#!/bin/sh\n").has_value());
        const auto script = readElfFile(at("script"));
        QVERIFY(!script);
        QVERIFY2(script.error().message.find("it begins with \"#!/bin/sh") != std::string::npos,
                 script.error().message.c_str());
        QVERIFY(writeFileAtomically(at("empty"), "").has_value());
        QVERIFY(readElfFile(at("empty")).error().message.find("it is empty") != std::string::npos);
        QVERIFY(!readElfFile(at("absent")));
        QVERIFY(!isElf("\x7f"
                       "EL"));
    }

    void aFileCutOffAnywhereIsDamaged() {
        compile("small", "int main(void) { return 0; }", {"-s"});
        const auto bytes = *readFile(at("small"));
        // Section headers are at the end, so every cut loses some; every byte of the headers, then every 37th.
        for (std::size_t length = 0; length < bytes.size(); length += length < 1024 ? 1 : 37) {
            const std::string cut = bytes.substr(0, length);
            const auto image = readElf(cut);
            QVERIFY2(!image || !image->damage.empty(), qPrintable(QString::number(length)));
        }
        QVERIFY(readElf(bytes)->damage.empty());
    }

    void changedBytesNeverCrash() {
        compile("small", "int main(void) { return 0; }", {"-s"});
        const auto bytes = *readFile(at("small"));
        std::mt19937 random(20261129);
        for (int round = 0; round < 1500; ++round) {
            auto changed = bytes;
            for (int i = 0; i < 1 + round % 8; ++i)
                changed[random() % (round % 2 ? std::min<std::size_t>(changed.size(), 2048) : changed.size())] =
                    char(random());
            (void)readElf(changed);
        }
    }

    void aTableOfVersionsThatTellsOfBillionsIsDamageNotMemory() {
        compile("needs", "#include <stdio.h>\nint main(void) { return puts(\"x\"); }", {});
        std::string bytes = *readFile(at("needs"));
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        for (int i = 0; i < header.e_shnum; ++i) {
            Elf64_Shdr section;
            char *place = bytes.data() + header.e_shoff + std::size_t(i) * sizeof section;
            std::memcpy(&section, place, sizeof section);
            if (section.sh_type != SHT_GNU_verneed)
                continue;
            section.sh_info = 0xFFFFFFFF;
            std::memcpy(place, &section, sizeof section);
            Elf64_Verneed need;
            std::memcpy(&need, bytes.data() + section.sh_offset, sizeof need);
            need.vn_next = 0; // the next library is this one again
            std::memcpy(bytes.data() + section.sh_offset, &need, sizeof need);
        }
        const auto image = readElf(bytes);
        QVERIFY(image.has_value());
        QCOMPARE(image->damage.size(), std::size_t(1));
        QCOMPARE(image->damage[0], std::string("the table of needed versions ends before its last entry: it is truncated or damaged"));
        QVERIFY(image->versions.size() < 100);
    }

    void namesThatTakeMoreRoomThanTheFileAreDamage() {
        const std::string longName(4000, 'n');
        compile("names", "int main(void) { return 0; }", {"-Wl,--no-as-needed", "lib.so", "-Wl,-rpath," + longName, "-Wl,--spare-dynamic-tags=500"});
        std::string bytes = *readFile(at("names"));
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        Elf64_Dyn path{};
        std::vector<char *> entries;
        for (int i = 0; i < header.e_phnum; ++i) {
            Elf64_Phdr segment;
            std::memcpy(&segment, bytes.data() + header.e_phoff + std::size_t(i) * sizeof segment, sizeof segment);
            for (std::size_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz; at += sizeof path)
                entries.push_back(bytes.data() + segment.p_offset + at);
        }
        const auto tagAt = [](const char *place) {
            Elf64_Dyn entry;
            std::memcpy(&entry, place, sizeof entry);
            return entry;
        };
        for (const char *place : entries) {
            if (tagAt(place).d_tag == DT_RUNPATH || tagAt(place).d_tag == DT_RPATH)
                path = tagAt(place);
        }
        QVERIFY(path.d_un.d_val != 0);
        path.d_tag = DT_NEEDED;
        entries.pop_back(); // DT_NULL ends the list
        for (char *place : entries) { // every other entry but the table's place and size needs the longest name
            if (tagAt(place).d_tag != DT_STRTAB && tagAt(place).d_tag != DT_STRSZ)
                std::memcpy(place, &path, sizeof path);
        }
        const auto image = readElf(bytes);
        QVERIFY(image.has_value());
        QVERIFY(has(image->damage, "its names take more room than the file has"));
        std::size_t kept = 0;
        for (const auto &name : image->needed)
            kept += name.size();
        QVERIFY(kept <= 4 * bytes.size());
    }

    void theClassAndByteOrderOfAHeaderAreBelieved() {
        compile("small", "int main(void) { return 0; }", {"-s"});
        auto bytes = *readFile(at("small"));
        bytes[4] = 1; // 32-bit: what follows does not fit, but must be read as such
        auto image = readElf(bytes);
        QCOMPARE(image->bits, 32);
        bytes[4] = 2;
        bytes[5] = 2; // big-endian
        image = readElf(bytes);
        QVERIFY(!image->littleEndian);
        QVERIFY(!image->damage.empty());
    }
};

QTEST_APPLESS_MAIN(TestElf)
#include "tst_elf.moc"
