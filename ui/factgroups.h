// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/target/facts.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace slipway {

/// One fact for people; an empty value = it could not be read.
struct FactLine {
    QString label;
    QString value;
};
struct FactGroup {
    QString title;
    std::vector<FactLine> lines;
};

/// A board's facts in the groups of the detail form: Board, Driver and GPU, System, Storage, Tools.
[[nodiscard]] std::vector<FactGroup> factGroups(const BoardFacts &facts);

/// The groups as cards, in as many columns as fit.
class FactsView : public QWidget {
public:
    explicit FactsView(QWidget *parent = nullptr);
    void setFacts(const BoardFacts &facts);
};

} // namespace slipway
