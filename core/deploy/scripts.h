// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

namespace slipway {

/// What runs on the board: fixed texts for a POSIX shell that take their data as arguments ($1 …) and on stdin, never
/// inside the text. They need sh, tar, ln, sha256sum and the like, nothing else; busybox's do. Layout:
/// DEST/releases/ID, DEST/releases/.ID.partial, DEST/current -> releases/ID,
/// DEST/.slipway/{lock,log.jsonl,good/ID,timer.NONCE,done.NONCE,run.pid,run.log}.
namespace script {

/// DEST. Prints what is there, changes nothing: lines "dest PATH", "current LINK", "foreign", "release ID", "partial
/// ID", "good ID", "log JSON", then "manifest" and the live release's manifest to the end.
extern const char *const state;
/// DEST ID NONCE BY FROM. Takes the lock (exit 75: "locked WHO, since WHEN"), makes the partial, links files of release
/// FROM: stdin has "D" directory and "F" name lines up to "E", then `sha256sum -c` lines. Prints "PATH: OK" for what is
/// whole and removes what is not.
extern const char *const begin;
/// DEST ID. Unpacks the tar on stdin into the partial.
extern const char *const receive;
/// DEST ID. Stdin: "M" mode and "F" path lines up to "E", then `sha256sum -c` lines. Exit 65 prints the files that
/// differ; otherwise the partial gets its final name.
extern const char *const finish;
/// DEST ID. Stdin: `sha256sum -c` lines of release ID; prints those that differ.
extern const char *const check;
/// DEST ID BACK NONCE SECONDS LOGLINE TIMER. Starts the timer if SECONDS > 0, then makes ID current by one rename.
extern const char *const activate;
/// DEST ID BACK NONCE SECONDS LOGLINE. Runs on after the host is gone: BACK is live again unless done.NONCE appears in
/// time.
extern const char *const timer;
/// DEST ID NONCE SECONDS LOGLINE. Marks ID good; exit 76 if the timer was first.
extern const char *const keep;
/// DEST ID BACK NONCE SECONDS LOGLINE. Makes BACK current again (no release, if empty) unless the timer did.
extern const char *const goBack;
/// DEST NONCE LOGLINE REMOVE. Logs a failure, removes the partial of release REMOVE (if not empty) and gives the lock
/// back.
extern const char *const abandon;
/// DEST NONCE ID…. Removes releases except what any link in DEST resolves to, and the partials of others; gives the
/// lock back.
extern const char *const prune;
/// DEST ID NONCE LOGLINE. Makes ID current and logs it.
extern const char *const restore;
/// RELEASE COMMAND COUNT NAME=VALUE… ARGUMENT…. Runs COMMAND there with the environment.
extern const char *const run;
/// DEST RELEASE COMMAND COUNT NAME=VALUE… ARGUMENT…. The same, with the pid kept and the output copied to run.log. Exit
/// 75 if one runs.
extern const char *const runLogged;
/// DEST. Ends the process group that runLogged started; prints "stopped" or "nothing".
extern const char *const stop;
/// DEST COUNT.
extern const char *const logs;

} // namespace script

/// A script with the functions that it may call: what `sh -c` gets.
[[nodiscard]] std::string scriptText(const char *body);
/// Runs a script with its arguments; a non-zero exit is a value.
[[nodiscard]] Result<Finished> runScript(Session &session, const char *text, std::vector<std::string> arguments,
                                         Progress &progress, std::string input = {});
/// The same with a non-zero exit as an error: "CONTEXT: last line of stderr".
[[nodiscard]] Result<Finished> checkScript(Session &session, const char *text, std::vector<std::string> arguments,
                                           std::string_view context, Progress &progress, std::string input = {});
/// The error for a script that failed on the board; says it in one line when the disk is full or read-only.
[[nodiscard]] Error scriptFailed(std::string_view context, const Finished &finished);
/// Did it fail for want of space.
[[nodiscard]] bool isDiskFull(const Finished &finished);

} // namespace slipway
