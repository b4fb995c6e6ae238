// SPDX-License-Identifier: Apache-2.0
//
// The columns of the sysroots, with a warning where the board moved on since the copy was made.

#include "ui/sysrootmodel.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QCoreApplication>

namespace slipway {

namespace {

QString tr(const char *text) { return QCoreApplication::translate("SysrootModel", text); }
const QString nothing = QStringLiteral("–");

QString state(const Board &board) {
    if (!board.sysroot)
        return tr("None yet");
    const auto drift = sysrootDrift(board);
    return drift.isEmpty() ? tr("Up to date") : drift;
}

QIcon stateIcon(const Board &board) {
    if (!board.sysroot)
        return icon("skipped", Tone::neutral);
    return sysrootDrift(board).isEmpty() ? icon("pass", Tone::good) : icon("warn", Tone::warning);
}

QString textOf(const Board &board, std::string Sysroot::*field) {
    return board.sysroot && !((*board.sysroot).*field).empty() ? qs((*board.sysroot).*field) : nothing;
}

} // namespace

QString sysrootDrift(const Board &board) {
    if (!board.sysroot || !board.facts)
        return {};
    const auto &copy = *board.sysroot;
    const auto &now = *board.facts;
    if (now.machineId && !copy.machineId.empty() && *now.machineId != copy.machineId)
        return tr("Taken from another board");
    if (now.l4t && !copy.l4t.empty() && *now.l4t != copy.l4t)
        return tr("Board moved from L4T %1 to %2").arg(qs(copy.l4t), qs(*now.l4t));
    if (now.glibc && !copy.glibc.empty() && *now.glibc != copy.glibc)
        return tr("Board moved from glibc %1 to %2").arg(qs(copy.glibc), qs(*now.glibc));
    return {};
}

SysrootModel::SysrootModel(QObject *parent)
    : TableModel<Board>(
          {
              {.title = tr("Device"), .text = [](const Board &b) { return qs(b.device.name); },
               .tip = [](const Board &b) { return b.sysroot ? qs(b.sysroot->path.string()) : qs(b.device.name); }},
              {.title = tr("State"), .text = state, .icon = stateIcon},
              {.title = tr("L4T"), .text = [](const Board &b) { return textOf(b, &Sysroot::l4t); }},
              {.title = tr("glibc"), .text = [](const Board &b) { return textOf(b, &Sysroot::glibc); }},
              {.title = tr("CUDA"), .text = [](const Board &b) { return textOf(b, &Sysroot::cudaToolkit); }},
              {.title = tr("Size"), .text = [](const Board &b) { return b.sysroot ? sizeText(b.sysroot->bytes) : nothing; },
               .key = [](const Board &b) { return qulonglong(b.sysroot ? b.sysroot->bytes : 0); }, .right = true},
              {.title = tr("Synced"), .text = [](const Board &b) { return b.sysroot ? ago(b.sysroot->syncedAt, unixNow()) : nothing; },
               .key = [](const Board &b) { return -qlonglong(b.sysroot ? b.sysroot->syncedAt : 0); }},
          },
          parent) {}

} // namespace slipway
