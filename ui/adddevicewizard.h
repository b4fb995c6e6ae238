// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"

#include <QWizard>

class QComboBox;
class QLineEdit;

namespace slipway {

class Banner;

/// Adds a board: name, host, user, key; the last page connects and shows what answered.
class AddDeviceWizard : public QWizard {
    Q_OBJECT
public:
    explicit AddDeviceWizard(Boards &boards, QWidget *parent = nullptr);
    /// What was entered; an error says which field is wrong.
    [[nodiscard]] Result<Device> device() const;

private:
    QWizardPage *buildAddressPage();
    QWizardPage *buildTestPage();
    void test();
    void showProblem(const QString &text);

    Boards &m_boards;
    QLineEdit *m_name;
    QLineEdit *m_host;
    QLineEdit *m_user;
    QLineEdit *m_key;
    QComboBox *m_target;
    Banner *m_problem;
    Banner *m_outcome;
};

} // namespace slipway
