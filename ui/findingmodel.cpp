// SPDX-License-Identifier: Apache-2.0
//
// Findings in words: a status is an icon and a word, never a colour alone.

#include "ui/findingmodel.h"

#include "ui/text.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>

namespace slipway {

namespace {
QString tr(const char *text, int count = -1) { return QCoreApplication::translate("FindingModel", text, nullptr, count); }

/// What asks for action first, then what the user may wish to read.
int urgency(Status status) {
    switch (status) {
    case Status::fail: return 0;
    case Status::unknown: return 1;
    case Status::warn: return 2;
    case Status::pass: return 3;
    case Status::skipped: break;
    }
    return 4;
}

QString checkTip(const Finding &finding) {
    return QString("%1 (%2)").arg(checkTitle(finding), qs(finding.id));
}

/// A kernel's file is known by its name; of the 64 digits of its hash the first say enough here.
QString subject(const Finding &finding) {
    static const QRegularExpression hash("([0-9a-f]{8})[0-9a-f]{24,}");
    return qs(finding.subject).replace(hash, QStringLiteral("\\1…"));
}

/// A check that found nothing wrong says at least what it looked at, one that was skipped why.
QString foundOrTitle(const Finding &finding) {
    if (!finding.found.empty())
        return qs(finding.found);
    if (finding.status == Status::skipped)
        return qs(finding.why);
    return finding.status == Status::pass ? checkTitle(finding) : QString();
}
} // namespace

QString checkTitle(const Finding &finding) {
    const auto found = std::ranges::find_if(checks(), [&](const Check &check) { return check.id == finding.id; });
    return found == checks().end() ? qs(finding.id) : qs(found->title);
}

QString statusWord(Status status) {
    switch (status) {
    case Status::pass: return tr("Pass");
    case Status::warn: return tr("Warning");
    case Status::fail: return tr("Fail");
    case Status::skipped: return tr("Skipped");
    case Status::unknown: return tr("Unknown");
    }
    return {};
}

Tone statusTone(Status status) {
    switch (status) {
    case Status::pass: return Tone::good;
    case Status::warn: return Tone::warning;
    case Status::fail: return Tone::bad;
    case Status::unknown: return Tone::unknown;
    case Status::skipped: break;
    }
    return Tone::neutral;
}

QIcon statusIcon(Status status) {
    constexpr const char *names[] = {"pass", "skipped", "warn", "unknown", "fail"};
    return icon(names[int(status)], statusTone(status));
}

int countOf(const Verdict &verdict, Status status) {
    return int(std::count_if(verdict.findings.begin(), verdict.findings.end(), [=](const Finding &f) { return f.status == status; }));
}

QString headline(const Verdict &verdict) {
    const int fails = countOf(verdict, Status::fail), warns = countOf(verdict, Status::warn);
    const int unknowns = countOf(verdict, Status::unknown), passes = countOf(verdict, Status::pass);
    QStringList counts;
    if (fails)
        counts << tr("%1 failed").arg(fails);
    if (unknowns)
        counts << tr("%1 could not be checked").arg(unknowns);
    if (warns)
        counts << (warns == 1 ? tr("1 warning") : tr("%1 warnings").arg(warns));
    counts << tr("%1 passed").arg(passes);
    switch (verdict.status) {
    case Status::fail: return tr("This package will not run there: %1").arg(counts.join(", "));
    case Status::unknown: return tr("Not proven: %1").arg(counts.join(", "));
    case Status::warn: return tr("It will run, with remarks: %1").arg(counts.join(", "));
    default: return tr("Ready to ship: %1").arg(counts.join(", "));
    }
}

QString verdictText(const Verdict &verdict) {
    auto findings = verdict.findings;
    std::stable_sort(findings.begin(), findings.end(), [](const Finding &a, const Finding &b) { return urgency(a.status) < urgency(b.status); });
    QStringList lines{headline(verdict), tr("checked against %1").arg(qs(verdict.factsSource)), QString()};
    for (const auto &finding : findings) {
        lines << statusWord(finding.status).leftJustified(8) + qs(finding.id) + "  " + qs(finding.subject);
        const std::pair<QString, std::string> parts[] = {{tr("found"), finding.found}, {tr("needed"), finding.needed},
                                                         {tr("why"), finding.why}, {tr("fix"), finding.fix}};
        for (const auto &[name, text] : parts)
            if (!text.empty())
                lines << QString(8, ' ') + name + ": " + qs(text);
    }
    return lines.join('\n') + '\n';
}

FindingModel::FindingModel(QObject *parent)
    : TableModel<Finding>(
          {
              {.title = tr("Result"),
               .text = [](const Finding &f) { return statusWord(f.status); },
               .key = [](const Finding &f) { return urgency(f.status); },
               .icon = [](const Finding &f) { return statusIcon(f.status); }},
              {.title = tr("Check"), .text = checkTitle, .tip = checkTip},
              {.title = tr("Subject"), .text = subject, .tip = [](const Finding &f) { return qs(f.subject); }},
              {.title = tr("Found"), .text = foundOrTitle},
              {.title = tr("Needed"), .text = [](const Finding &f) { return qs(f.needed); }},
          },
          parent) {}

} // namespace slipway
