// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"

#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>

/// The real `slipway` with directories of its own; downloaded packages are shared by all tests of a build.
class CommandLine {
public:
    struct Outcome {
        int code = -1;
        QByteArray output;
        QByteArray errors;
        [[nodiscard]] slipway::Json json() const {
            auto parsed = slipway::parseJson(std::string_view(output.constData(), std::size_t(output.size())), "stdout");
            return parsed ? *parsed : slipway::Json();
        }
        /// Lines on stderr that are not progress.
        [[nodiscard]] QByteArray errorLine() const {
            for (const auto &line : errors.split('\n')) {
                if (line.startsWith("error: "))
                    return line.mid(7);
            }
            return {};
        }
    };

    CommandLine() : m_environment(QProcessEnvironment::systemEnvironment()) {
        m_environment.insert("XDG_CONFIG_HOME", m_dir.filePath("config"));
        m_environment.insert("XDG_STATE_HOME", m_dir.filePath("state"));
        m_environment.insert("XDG_CACHE_HOME", QStringLiteral(SLIPWAY_BINARY_DIR "/test-cache"));
        m_environment.remove("SSH_AUTH_SOCK");
        m_environment.remove("SSH_ASKPASS");
    }

    [[nodiscard]] QString path(const QString &name) const { return m_dir.filePath(name); }
    void setVariable(const QString &name, const QString &value) { m_environment.insert(name, value); }
    [[nodiscard]] static QString program() { return QStringLiteral(SLIPWAY_BIN_DIR "/slipway"); }
    [[nodiscard]] QProcessEnvironment environment() const { return m_environment; }

    Outcome run(const QStringList &arguments, const QString &directory = {}, int timeoutMs = 300'000) const {
        QProcess process;
        process.setProcessEnvironment(m_environment);
        process.setStandardInputFile(QProcess::nullDevice());
        if (!directory.isEmpty())
            process.setWorkingDirectory(directory);
        process.start(program(), arguments);
        process.waitForFinished(timeoutMs);
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(), process.readAllStandardError()};
    }

    void write(const QString &name, const QByteArray &bytes) const {
        std::ignore = slipway::writeFileAtomically(path(name).toStdString(), std::string_view(bytes.constData(), std::size_t(bytes.size())));
    }

private:
    QTemporaryDir m_dir;
    QProcessEnvironment m_environment;
};
