// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"
#include "ui/look.h"
#include "ui/tablemodel.h"

namespace slipway {

/// "Pass", "Warning", "Fail", "Skipped", "Unknown".
/// What a check is about, for people: "PTX version accepted by the driver"; the id of one that the table does not know.
[[nodiscard]] QString checkTitle(const Finding &finding);
[[nodiscard]] QString statusWord(Status status);
[[nodiscard]] Tone statusTone(Status status);
[[nodiscard]] QIcon statusIcon(Status status);
/// How many findings have that status.
[[nodiscard]] int countOf(const Verdict &verdict, Status status);
/// "Will not run: 2 failed, 1 warning" as a headline.
[[nodiscard]] QString headline(const Verdict &verdict);
/// All findings as text, worst first, for the clipboard.
[[nodiscard]] QString verdictText(const Verdict &verdict);

/// The findings of a pre-flight, one row each.
class FindingModel : public TableModel<Finding> {
public:
    enum { statusColumn, checkColumn, subjectColumn, foundColumn, neededColumn };
    explicit FindingModel(QObject *parent = nullptr);
};

} // namespace slipway
