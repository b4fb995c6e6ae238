// SPDX-License-Identifier: Apache-2.0
//
// The columns of the kernel cache: what the image says first, what was recorded when it was compiled second.

#include "ui/cachemodel.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QCoreApplication>
#include <QStringList>

namespace slipway {

namespace {

QString tr(const char *text) { return QCoreApplication::translate("CacheModel", text); }
const QString nothing = QStringLiteral("–");

QString entries(const CacheEntry &entry) {
    QStringList names;
    if (entry.facts)
        for (const auto &one : entry.facts->entries)
            names << qs(one.name);
    return names.isEmpty() ? nothing : names.join(", ");
}

QString capability(const CacheEntry &entry) {
    if (entry.facts && entry.facts->target)
        return qs(entry.facts->target->sm());
    return entry.record && entry.record->target ? qs(entry.record->target->sm()) : nothing;
}

QString ptxVersion(const CacheEntry &entry) {
    return entry.facts && entry.facts->ptxVersion ? qs(entry.facts->ptxVersion->text()) : nothing;
}

int registers(const CacheEntry &entry) { return entry.record ? entry.record->registers : -1; }

std::int64_t shared(const CacheEntry &entry) {
    if (entry.record && entry.record->sharedBytes >= 0)
        return entry.record->sharedBytes;
    return entry.facts && entry.facts->sharedBytes ? std::int64_t(*entry.facts->sharedBytes) : -1;
}

QString source(const CacheEntry &entry) { return entry.record && !entry.record->source.empty() ? qs(entry.record->source) : nothing; }

QString remarks(const CacheEntry &entry) {
    QStringList all;
    for (const auto &remark : entry.remarks)
        all << qs(remark);
    if (entry.facts)
        for (const auto &damage : entry.facts->damage)
            all << qs(damage);
    if (entry.record && entry.record->spillBytes > 0)
        all << tr("spills %1 bytes").arg(entry.record->spillBytes);
    return all.join("; ");
}

QIcon remarkIcon(const CacheEntry &entry) {
    if (entry.facts && !entry.facts->damage.empty())
        return icon("fail", Tone::bad);
    return remarks(entry).isEmpty() ? QIcon() : icon("warn", Tone::warning);
}

} // namespace

CacheModel::CacheModel(QObject *parent)
    : TableModel<CacheEntry>(
          {
              {.title = tr("Kernel"), .text = [](const CacheEntry &e) { return qs(e.name); },
               .tip = [](const CacheEntry &e) { return qs(e.image.empty() ? e.cubin.string() : e.image.string()); }},
              {.title = tr("Capability"), .text = capability,
               .key = [](const CacheEntry &e) { return e.facts && e.facts->target ? e.facts->target->number : 0; }},
              {.title = tr("PTX"), .text = ptxVersion,
               .key = [](const CacheEntry &e) { return e.facts && e.facts->ptxVersion ? e.facts->ptxVersion->code() : 0; }},
              {.title = tr("Cubin"), .text = [](const CacheEntry &e) { return e.cubin.empty() ? tr("no") : tr("yes"); }},
              {.title = tr("Registers"), .text = [](const CacheEntry &e) { return registers(e) < 0 ? nothing : QString::number(registers(e)); },
               .key = registers, .right = true},
              {.title = tr("Shared"), .text = [](const CacheEntry &e) { return shared(e) < 0 ? nothing : sizeText(std::uint64_t(shared(e))); },
               .key = [](const CacheEntry &e) { return qlonglong(shared(e)); }, .right = true},
              {.title = tr("Size"), .text = [](const CacheEntry &e) { return sizeText(e.bytes); },
               .key = [](const CacheEntry &e) { return qulonglong(e.bytes); }, .right = true},
              {.title = tr("Source"), .text = source},
              {.title = tr("Age"), .text = [](const CacheEntry &e) { return ago(e.modified, unixNow()); },
               .key = [](const CacheEntry &e) { return -qlonglong(e.modified); }},
              {.title = tr("Remarks"), .text = remarks, .icon = remarkIcon},
              {.title = tr("Entry"), .text = entries},
          },
          parent) {}

} // namespace slipway
