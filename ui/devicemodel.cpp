// SPDX-License-Identifier: Apache-2.0
//
// The columns of the device list.

#include "ui/devicemodel.h"

#include "ui/text.h"

#include <QCoreApplication>

namespace slipway {

namespace {
QString tr(const char *text) { return QCoreApplication::translate("DeviceModel", text); }
} // namespace

QString reachWord(const BoardRow &row) {
    switch (row.reach) {
    case Reach::idle: return tr("Not contacted yet");
    case Reach::working: return tr("Connecting…");
    case Reach::ready: return tr("Ready");
    case Reach::failed: return tr("Not reached");
    }
    return {};
}

Tone reachTone(Reach reach) {
    switch (reach) {
    case Reach::ready: return Tone::good;
    case Reach::failed: return Tone::bad;
    case Reach::working: return Tone::busy;
    case Reach::idle: break;
    }
    return Tone::neutral;
}

DeviceModel::DeviceModel(QObject *parent)
    : TableModel<BoardRow>(
          {
              {.title = tr("Name"), .text = [](const BoardRow &row) { return qs(row.board.device.name); }},
              {.title = tr("State"),
               .text = reachWord,
               .key = [](const BoardRow &row) { return int(row.reach); },
               .icon = [](const BoardRow &row) { return icon("dot", reachTone(row.reach)); },
               .tip = [](const BoardRow &row) { return row.problem.empty() ? reachWord(row) : qs(row.problem); }},
              {.title = tr("Target"),
               .text = [](const BoardRow &row) { return row.targetName.empty() ? tr("not known yet") : qs(row.targetName); }},
              {.title = tr("Deployed"),
               .text = [](const BoardRow &row) { return row.deployed.empty() ? tr("nothing known") : qs(row.deployed); }},
              {.title = tr("Last seen"),
               .text = [](const BoardRow &row) { return ago(qs(row.board.device.lastSeen), unixNow()); },
               .key = [](const BoardRow &row) { return qs(row.board.device.lastSeen); }},
          },
          parent) {}

} // namespace slipway
