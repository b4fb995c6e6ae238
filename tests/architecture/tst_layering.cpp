// SPDX-License-Identifier: Apache-2.0
//
// The order of folders (DESIGN section 2) is checked on every file's includes: a folder sees itself and what is below it.

#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QTest>

#include <map>

namespace {

/// Height of each folder of core; equal heights do not see each other.
const std::map<QString, int> heights = {{"base", 0},    {"target", 1},    {"device", 2},    {"image", 2},     {"sysroot", 3}, {"kernel", 3},
                                        {"build", 4},   {"package", 5},   {"workspace", 5}, {"preflight", 6}, {"deploy", 7}};

struct Include {
    QString file; ///< relative to the root
    QString header;
};

QList<Include> includesBelow(const QString &folder) {
    QList<Include> found;
    const QDir root(SLIPWAY_SOURCE_DIR);
    const QRegularExpression pattern("^\\s*#\\s*include\\s*[<\x22]([^>\x22]+)[>\x22]", QRegularExpression::MultilineOption);
    QDirIterator files(root.filePath(folder), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        if (!file.open(QIODevice::ReadOnly))
            continue;
        auto matches = pattern.globalMatch(QString::fromUtf8(file.readAll()));
        while (matches.hasNext())
            found << Include{root.relativeFilePath(file.fileName()), matches.next().captured(1)};
    }
    return found;
}

} // namespace

class TestLayering : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void foldersOfCoreIncludeOnlyWhatIsBelowThem() {
        const auto includes = includesBelow("core");
        QVERIFY(includes.size() > 20);
        for (const auto &[file, header] : includes) {
            if (!header.startsWith("core/"))
                continue;
            const auto from = file.section('/', 1, 1);
            const auto to = header.section('/', 1, 1);
            QVERIFY2(heights.contains(from) && heights.contains(to), qPrintable(file + " includes " + header));
            QVERIFY2(from == to || heights.at(to) < heights.at(from), qPrintable(file + " includes " + header));
        }
    }

    void coreNeverIncludesUiOrAppOrWidgets() {
        for (const auto &[file, header] : includesBelow("core")) {
            const bool bad = header.startsWith("ui/") || header.startsWith("app/") || header.startsWith("QtWidgets") ||
                             header.startsWith("QtGui") || header == "QWidget" || header == "QApplication" || header == "QColor";
            QVERIFY2(!bad, qPrintable(file + " includes " + header));
        }
    }

    void uiDoesNoInputOutput() {
        const QRegularExpression io("^(QProcess|QFile|QThread|QTcpSocket|QLocalSocket|fstream|thread|libssh/.*|unistd.h|sys/.*)$");
        for (const auto &[file, header] : includesBelow("ui"))
            QVERIFY2(!io.match(header).hasMatch() && !header.startsWith("app/"), qPrintable(file + " includes " + header));
    }

    void libsshAndLlvmStayInTheFilesThatOwnThem() {
        for (const auto &folder : {"core", "ui", "app"}) {
            for (const auto &[file, header] : includesBelow(folder)) {
                if (header.startsWith("libssh/"))
                    QVERIFY2(file.startsWith("core/device/session") && file.endsWith(".cpp"), qPrintable(file + " includes " + header));
                if (header.startsWith("llvm/")) {
                    QVERIFY2(file.endsWith(".cpp"), qPrintable(file + " includes " + header));
                    const bool reader = header.startsWith("llvm/Object/") || header.startsWith("llvm/BinaryFormat/") ||
                                        header.startsWith("llvm/Support/");
                    QVERIFY2(file.startsWith("app/kernelc/") || (file.startsWith("core/image/") && reader),
                             qPrintable(file + " includes " + header));
                }
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestLayering)
#include "tst_layering.moc"
