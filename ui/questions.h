// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/device.h"

#include <QString>

#include <functional>

class QWidget;

namespace slipway {

/// Is this error a question to the user?
[[nodiscard]] bool isQuestion(ErrorKind kind);

/// Gets the login with the answer in it, or null when the user declined.
using Answered = std::function<void(const Login *)>;

/// Asks in a dialog of `window` what `error` wants to know and puts the answer into `login`. `before` = the same secret was
/// given already and was refused. Returns at once.
void askQuestion(QWidget *window, const Error &error, bool before, Login login, Answered answered);

/// Asks yes or no; `yes` is the button's text, a verb. Returns at once.
void askToConfirm(QWidget *window, const QString &title, const QString &text, const QString &yes, std::function<void()> confirmed);

} // namespace slipway
