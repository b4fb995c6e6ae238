// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"
#include "ui/jobs.h"
#include "ui/questions.h"

#include <QDateTime>

#include <map>

namespace slipway {

/// What the window knows of reaching a board. Nothing is contacted at start: that is `idle`.
enum class Reach { idle, working, ready, failed };

/// A row of the device list: the saved board and this session's view of it.
struct BoardRow {
    Board board;
    Reach reach = Reach::idle;
    std::string problem;  ///< of `failed`
    std::string deployed; ///< id of the live release; empty = not known
    std::string targetName;
};

/// The boards as the whole window sees them: the overview, who is reachable, and the logins of this session. Runs what needs
/// a login, asking the user what the board asks.
class Boards : public QObject {
    Q_OBJECT
public:
    Boards(std::shared_ptr<Actions> actions, Jobs &jobs, Settings &settings, QWidget *window);

    /// Reads the workspace again (not the boards).
    void refresh();
    [[nodiscard]] const Overview &overview() const { return m_overview; }
    [[nodiscard]] const std::vector<BoardRow> &rows() const { return m_rows; }
    [[nodiscard]] const BoardRow *find(const std::string &name) const;
    [[nodiscard]] const std::shared_ptr<Actions> &actions() const { return m_actions; }
    [[nodiscard]] Jobs &jobs() const { return m_jobs; }
    [[nodiscard]] Settings &settings() const { return m_settings; }
    [[nodiscard]] QWidget *window() const { return m_window; }

    /// The device that the whole window works with.
    [[nodiscard]] const std::string &selected() const { return m_selected; }
    void select(const std::string &name);

    void readFacts(const std::string &name);
    void save(const Device &device, bool readFactsToo);
    void remove(const std::string &name);
    void startVirtualBoard();

    /// Where releases of this board go; remembered.
    [[nodiscard]] std::string dest(const std::string &name) const;
    void setDest(const std::string &name, const std::string &dest);
    /// A job that still runs heard from the board.
    void noteReached(const std::string &name) { setReach(name, Reach::ready); }
    void setDeployed(const std::string &name, const std::string &release);

    /// Runs `operation` with the board's login as a job. A question (host key, password) is asked and the same job goes on;
    /// declined, it ends as cancelled. `done` gets the final result.
    template <typename T>
    int run(const std::string &name, JobSpec spec, std::function<Result<T>(const Login &, Progress &)> operation,
            QObject *receiver, std::function<void(const Result<T> &)> done) {
        const Login login = loginOf(name);
        noteStart(name);
        const int answersBefore = m_answers[name];
        auto idBox = std::make_shared<int>(0);
        const QPointer<QObject> alive(receiver);
        *idBox = m_jobs.start<T>(
            spec, [operation, login](Progress &progress) { return operation(login, progress); }, this,
            [=, this](const Result<T> &result) {
                noteOutcome(name, result ? nullptr : &result.error());
                if (result || !isQuestion(result.error().kind)) {
                    if (alive && done)
                        done(result);
                    return;
                }
                auto next = spec;
                next.again = *idBox;
                ask(name, answersBefore, result.error(), [=, this](bool answered) {
                    if (answered) {
                        run<T>(name, next, operation, alive, done);
                        return;
                    }
                    const Error declined{.kind = ErrorKind::cancelled, .message = "not answered: " + result.error().message};
                    m_jobs.giveUp(*idBox, declined);
                    if (alive && done)
                        done(std::unexpected(declined));
                });
            });
        return *idBox;
    }

Q_SIGNALS:
    /// The rows changed in any way.
    void changed();
    void selectedChanged(const std::string &name);
    void problem(const QString &text);

private:
    [[nodiscard]] Login loginOf(const std::string &name);
    /// Remembered also for a board whose row has not been read yet.
    void setReach(const std::string &name, Reach reach, const std::string &problem = {});
    /// A board that was not contacted yet is being contacted from here on.
    void noteStart(const std::string &name);
    void noteOutcome(const std::string &name, const Error *error);
    /// Asks once, however many jobs of the board wait for the answer; those that began before it was given just go on.
    void ask(const std::string &name, int answersBefore, const Error &error, std::function<void(bool)> answered);
    void take(const Overview &overview);

    std::shared_ptr<Actions> m_actions;
    Jobs &m_jobs;
    Settings &m_settings;
    QWidget *m_window;
    Overview m_overview;
    std::vector<BoardRow> m_rows;
    std::map<std::string, Login> m_logins;            ///< with this session's secrets
    std::map<std::string, std::string> m_askedSecret; ///< board -> what it was asked for last
    std::map<std::string, int> m_answers;             ///< board -> how many questions were answered
    std::map<std::string, std::vector<std::function<void(bool)>>> m_waiting; ///< board -> who waits for the open question
    std::map<std::string, std::pair<Reach, std::string>> m_reach; ///< board -> as it was last found, and the problem
    std::string m_selected;
};

} // namespace slipway
