// SPDX-License-Identifier: Apache-2.0
//
// The dialogs for what only the user can answer: is this host key right, which password, really remove.

#include "ui/questions.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>

namespace slipway {

namespace {

QString tr(const char *text) { return QCoreApplication::translate("slipway", text); }

QMessageBox *messageBox(QWidget *window, QMessageBox::Icon kind, const QString &title, const QString &text) {
    auto *box = new QMessageBox(kind, title, QString(), QMessageBox::NoButton, window);
    box->setTextFormat(Qt::PlainText);
    box->setText(text);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return box;
}

/// "SHA256:…" in what an error carries: its first word of that form.
std::string fingerprintIn(const std::string &detail) {
    const auto begin = detail.find("SHA256:");
    if (begin == std::string::npos)
        return detail;
    return detail.substr(begin, detail.find_first_of(" \n\t,;)", begin) - begin);
}

/// The fingerprint that the host presents now: the last one named when a changed key shows both.
std::string presentedFingerprint(const Error &error) {
    const auto last = error.detail.rfind("SHA256:");
    return fingerprintIn(last == std::string::npos ? error.detail : error.detail.substr(last));
}

void askUnknownKey(QWidget *window, const Error &error, Login login, Answered answered) {
    auto *box = messageBox(window, QMessageBox::Question, tr("First contact"),
                           tr("%1 is not in your known hosts yet.").arg(qs(error.subject)));
    box->setObjectName("unknownHostKey");
    box->setInformativeText(tr("Its key is\n%1\n\nCompare it with what the board shows for\n"
                               "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").arg(qs(presentedFingerprint(error))));
    auto *accept = box->addButton(tr("&Trust this board"), QMessageBox::AcceptRole);
    box->addButton(QMessageBox::Cancel);
    box->setDefaultButton(QMessageBox::Cancel);
    QObject::connect(box, &QMessageBox::finished, window, [=, login = std::move(login), key = presentedFingerprint(error)]() mutable {
        const bool yes = box->clickedButton() == accept;
        if (yes)
            login.acceptFingerprint = key;
        answered(yes ? &login : nullptr);
    });
    box->open();
}

void askChangedKey(QWidget *window, const Error &error, Login login, Answered answered) {
    auto *box = messageBox(window, QMessageBox::Warning, tr("Another host key"),
                           tr("%1 presents another key than last time.").arg(qs(error.subject)));
    box->setObjectName("changedHostKey");
    box->setInformativeText(tr("%1\n\nThis is usual after a board was flashed again, or when another board got its address. "
                               "If neither happened, somebody may be listening: stop here.").arg(qs(error.detail)));
    auto *replace = box->addButton(tr("It was &flashed: replace the key"), QMessageBox::DestructiveRole);
    auto *cancel = box->addButton(QMessageBox::Cancel);
    box->setDefaultButton(cancel);
    box->setEscapeButton(cancel);
    QObject::connect(box, &QMessageBox::finished, window, [=, login = std::move(login), key = presentedFingerprint(error)]() mutable {
        const bool yes = box->clickedButton() == replace;
        if (yes) {
            login.replaceChangedKey = true;
            login.acceptFingerprint = key;
        }
        answered(yes ? &login : nullptr);
    });
    box->open();
}

void askSecret(QWidget *window, const Error &error, bool before, Login login, Answered answered) {
    const bool passphrase = error.kind == ErrorKind::passphraseNeeded;
    auto *dialog = new QDialog(window);
    dialog->setObjectName("secretQuestion");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(passphrase ? tr("Locked key") : tr("Password"));
    auto *layout = column(margin);
    dialog->setLayout(layout);
    layout->addWidget(plainLabel((passphrase ? tr("Passphrase of the key %1") : tr("Password of %1")).arg(qs(error.subject))));
    auto *edit = new QLineEdit;
    edit->setEchoMode(QLineEdit::Password);
    edit->setInputMethodHints(Qt::ImhSensitiveData | Qt::ImhNoPredictiveText);
    edit->setAccessibleName(passphrase ? tr("Passphrase") : tr("Password"));
    edit->setMinimumWidth(360);
    layout->addWidget(edit);
    if (before) {
        auto *wrong = plainLabel(tr("What you entered was refused. Try again."));
        auto colours = wrong->palette();
        colours.setColor(QPalette::WindowText, toneColor(Tone::bad, colours));
        wrong->setPalette(colours);
        layout->addWidget(wrong);
    }
    layout->addWidget(quietLabel(tr("Kept in memory until the window closes; never written to a file.")));
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    layout->addWidget(buttons);
    QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    QObject::connect(dialog, &QDialog::finished, window, [=, login = std::move(login), subject = error.subject](int result) mutable {
        if (result == QDialog::Accepted) {
            auto bytes = edit->text().toUtf8();
            (passphrase ? login.passphrases : login.passwords)[subject] = Secret(std::string_view(bytes.constData(), std::size_t(bytes.size())));
            bytes.fill('\0');
        }
        edit->clear();
        answered(result == QDialog::Accepted ? &login : nullptr);
    });
    dialog->open();
}

} // namespace

bool isQuestion(ErrorKind kind) {
    return kind == ErrorKind::hostKeyUnknown || kind == ErrorKind::hostKeyChanged || kind == ErrorKind::passwordNeeded ||
           kind == ErrorKind::passphraseNeeded;
}

void askQuestion(QWidget *window, const Error &error, bool before, Login login, Answered answered) {
    switch (error.kind) {
    case ErrorKind::hostKeyUnknown: return askUnknownKey(window, error, std::move(login), std::move(answered));
    case ErrorKind::hostKeyChanged: return askChangedKey(window, error, std::move(login), std::move(answered));
    default: return askSecret(window, error, before, std::move(login), std::move(answered));
    }
}

void askToConfirm(QWidget *window, const QString &title, const QString &text, const QString &yes, std::function<void()> confirmed) {
    auto *box = messageBox(window, QMessageBox::Question, title, text);
    box->setObjectName("confirm");
    auto *accept = box->addButton(yes, QMessageBox::AcceptRole);
    auto *cancel = box->addButton(QMessageBox::Cancel);
    box->setDefaultButton(cancel);
    QObject::connect(box, &QMessageBox::finished, window, [=] {
        if (box->clickedButton() == accept)
            confirmed();
    });
    box->open();
}

} // namespace slipway
