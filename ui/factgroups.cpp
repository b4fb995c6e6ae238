// SPDX-License-Identifier: Apache-2.0
//
// Facts in words and groups. What could not be read is said so: it is never left out, since checks depend on it.

#include "ui/factgroups.h"

#include "ui/look.h"
#include "ui/text.h"
#include "core/target/cudaversion.h"

#include <QCoreApplication>
#include <QGridLayout>
#include <QGroupBox>

namespace slipway {

namespace {

QString tr(const char *text) { return QCoreApplication::translate("FactGroups", text); }

QString optional(const std::optional<std::string> &text) { return text ? qs(*text) : QString(); }

QString cudaText(int version) { return tr("CUDA %1").arg(qs(cudaVersionText(version))); }

QString driver(const BoardFacts &facts) {
    if (!facts.cudaDriver)
        return facts.cudaDriverStatus && *facts.cudaDriverStatus != "ok" ? qs(*facts.cudaDriverStatus) : QString();
    return cudaText(*facts.cudaDriver);
}

FactGroup boardGroup(const BoardFacts &facts) {
    QString jetpack = optional(facts.jetpack);
    if (facts.l4t)
        jetpack += jetpack.isEmpty() ? tr("L4T %1").arg(qs(*facts.l4t)) : tr(" (L4T %1)").arg(qs(*facts.l4t));
    return {tr("Board"),
            {{tr("Model"), optional(facts.model)},
             {tr("JetPack"), jetpack},
             {tr("Module"), facts.compatible && !facts.compatible->empty() ? qs(facts.compatible->front()) : QString()},
             {tr("Power mode"), optional(facts.powerMode)},
             {tr("Machine id"), facts.machineId ? qs(facts.machineId->substr(0, 12)) : QString()}}};
}

FactGroup gpuGroup(const BoardFacts &facts) {
    const auto *gpu = facts.gpu();
    FactGroup group{tr("Driver and GPU"),
            {{tr("GPU"), gpu ? qs(gpu->name) : QString()},
             {tr("Capability"), gpu ? qs(gpu->capability.dotted()) + " (" + qs(gpu->capability.sm()) + ")" : QString()},
             {tr("Multiprocessors"), gpu && gpu->smCount ? QString::number(*gpu->smCount) : QString()},
             {tr("Driver accepts"), driver(facts)},
             {tr("CUDA toolkit"), optional(facts.cudaToolkit)}}};
    for (const auto &compat : facts.cudaCompat)
        group.lines.push_back({tr("With cuda-compat"), (compat.driver && compat.status == "ok" ? cudaText(*compat.driver) : qs(compat.status)) +
                                                           tr(" (%1)").arg(qs(compat.path))});
    return group;
}

FactGroup systemGroup(const BoardFacts &facts) {
    QString skew;
    if (facts.clockSkewSeconds)
        skew = std::abs(*facts.clockSkewSeconds) < 2 ? tr("right") : tr("%1 s off").arg(*facts.clockSkewSeconds);
    return {tr("System"),
            {{tr("System"), optional(facts.os)},
             {tr("Machine"), optional(facts.arch)},
             {tr("Kernel"), optional(facts.kernel)},
             {tr("glibc"), optional(facts.glibc)},
             {tr("libstdc++"), facts.glibcxx ? "GLIBCXX_" + qs(*facts.glibcxx) : QString()},
             {tr("Clock"), skew}}};
}

/// Memory that looks like a disk: nobody ships there.
bool isPseudo(const std::string &mount) {
    for (const std::string_view root : {"/dev", "/run", "/proc", "/sys"})
        if (mount == root || mount.starts_with(std::string(root) + "/"))
            return true;
    return false;
}

FactGroup storageGroup(const BoardFacts &facts) {
    FactGroup group{tr("Memory and storage"), {{tr("Memory"), facts.memoryBytes ? sizeText(*facts.memoryBytes) : QString()}}};
    if (!facts.disks)
        group.lines.push_back({tr("Disks"), {}});
    else
        for (const auto &disk : *facts.disks) {
            if (isPseudo(disk.mount))
                continue;
            auto text = tr("%1 free").arg(sizeText(disk.freeBytes));
            if (disk.readOnly)
                text += tr(", read-only");
            if (disk.noexec)
                text += tr(", noexec");
            group.lines.push_back({qs(disk.mount), text});
        }
    return group;
}

FactGroup toolsGroup(const BoardFacts &facts) {
    FactGroup group{tr("Tools"), {}};
    for (const char *name : {"rsync", "tar", "sha256sum", "sftp"}) {
        QString value;
        if (facts.tools) {
            const auto found = facts.tools->find(name);
            value = found == facts.tools->end() ? tr("missing") : found->second.empty() ? tr("present") : qs(found->second);
        }
        group.lines.push_back({name, value});
    }
    group.lines.push_back({tr("Login shell"), facts.shellQuiet ? (*facts.shellQuiet ? tr("quiet") : tr("prints text")) : QString()});
    return group;
}

QWidget *card(const FactGroup &group) {
    auto *box = new QGroupBox(group.title);
    auto *grid = new QGridLayout(box);
    grid->setContentsMargins(margin, gap, margin, gap);
    grid->setHorizontalSpacing(margin);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    int line = 0;
    for (const auto &[label, value] : group.lines) {
        auto *name = plainLabel(label);
        name->setForegroundRole(QPalette::PlaceholderText);
        auto *text = new ElidedLabel;
        text->setFullText(value.isEmpty() ? tr("not known") : value);
        if (value.isEmpty())
            text->setForegroundRole(QPalette::PlaceholderText);
        text->setAccessibleName(label + ": " + text->fullText());
        text->setMinimumWidth(40);
        grid->addWidget(name, line, 0);
        grid->addWidget(text, line++, 1);
    }
    grid->setRowStretch(line, 1);
    return box;
}

} // namespace

std::vector<FactGroup> factGroups(const BoardFacts &facts) {
    return {boardGroup(facts), gpuGroup(facts), systemGroup(facts), storageGroup(facts), toolsGroup(facts)};
}

FactsView::FactsView(QWidget *parent) : QWidget(parent) {
    auto *grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setSpacing(gap);
}

void FactsView::setFacts(const BoardFacts &facts) {
    auto *grid = static_cast<QGridLayout *>(layout());
    while (auto *item = grid->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    struct Place {
        int row, column, width;
    };
    constexpr Place places[] = {{0, 0, 8}, {0, 8, 6}, {1, 0, 5}, {1, 5, 5}, {1, 10, 4}}; // on a grid of fourteen
    const auto groups = factGroups(facts);
    for (int i = 0; i < 14; ++i)
        grid->setColumnStretch(i, 1);
    for (std::size_t i = 0; i < groups.size(); ++i)
        grid->addWidget(card(groups[i]), places[i].row, places[i].column, 1, places[i].width);
}

} // namespace slipway
