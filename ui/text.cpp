// SPDX-License-Identifier: Apache-2.0
//
// Words for people: ages, sizes, and text from outside made safe to show.

#include "ui/text.h"

#include "core/base/progress.h"

#include <QCoreApplication>
#include <QDateTime>

namespace slipway {

namespace {
QString tr(const char *text, int count = -1) { return QCoreApplication::translate("slipway", text, nullptr, count); }
} // namespace

QString ago(long unixTime, long now) {
    if (unixTime <= 0)
        return tr("never");
    const long seconds = now - unixTime;
    if (seconds < 60)
        return tr("just now");
    if (seconds < 3600)
        return tr("%1 min ago").arg(seconds / 60);
    if (seconds < 86400)
        return tr("%1 h ago").arg(seconds / 3600);
    const long days = seconds / 86400;
    return days == 1 ? tr("yesterday") : tr("%1 days ago").arg(days);
}

QString ago(const QString &isoTime, long now) {
    const auto time = QDateTime::fromString(isoTime, Qt::ISODate);
    return ago(time.isValid() ? long(time.toSecsSinceEpoch()) : 0, now);
}

long unixNow() {
    return long(QDateTime::currentSecsSinceEpoch());
}

QString sizeText(std::uint64_t bytes) {
    return qs(formatBytes(bytes));
}

QString plainTip(const QString &text) {
    return text.isEmpty() ? QString() : "<qt>" + text.toHtmlEscaped().replace('\n', "<br>") + "</qt>";
}

QString sentence(const QString &text) {
    return text.isEmpty() ? text : text.at(0).toUpper() + text.mid(1);
}

} // namespace slipway
