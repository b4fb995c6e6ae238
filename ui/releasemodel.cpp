// SPDX-License-Identifier: Apache-2.0
//
// The columns of the releases on a board.

#include "ui/releasemodel.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QCoreApplication>

namespace slipway {

namespace {

QString tr(const char *text) { return QCoreApplication::translate("ReleaseModel", text); }

QString state(const Release &release) {
    if (release.current)
        return tr("Live");
    return release.outcome.empty() ? tr("Kept") : sentence(qs(release.outcome));
}

QIcon stateIcon(const Release &release) {
    if (release.current)
        return icon("pass", Tone::good);
    return release.good ? icon("skipped", Tone::neutral) : icon("warn", Tone::warning);
}

} // namespace

ReleaseModel::ReleaseModel(QObject *parent)
    : TableModel<Release>(
          {
              {.title = tr("Release"), .text = [](const Release &r) { return qs(r.id); }},
              {.title = tr("State"), .text = state, .icon = stateIcon},
              {.title = tr("Deployed"), .text = [](const Release &r) { return ago(r.deployedAt, unixNow()); },
               .key = [](const Release &r) { return -qlonglong(r.deployedAt); }},
              {.title = tr("By"), .text = [](const Release &r) { return qs(r.by); }},
              {.title = tr("Commit"), .text = [](const Release &r) {
                   return r.commit.empty() ? tr("unknown") : qs(r.commit.substr(0, 10)) + (r.dirty ? tr(" + changes") : QString());
               }},
              {.title = tr("Size"), .text = [](const Release &r) { return sizeText(r.bytes); },
               .key = [](const Release &r) { return qulonglong(r.bytes); }, .right = true},
          },
          parent) {}

} // namespace slipway
