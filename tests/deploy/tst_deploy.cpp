// SPDX-License-Identifier: Apache-2.0
//
// Deploying to a real shell: what becomes live, and that nothing goes wrong for what is live when anything fails.

#include "tests/deploy/boardfixture.h"

#include <QElapsedTimer>
#include <QTest>

#include <fstream>

#include <thread>

using namespace slipway;

namespace {

const std::map<std::string, std::string> filesA{
    {"bin/app", "#!/bin/sh\necho A\n"}, {"cache/k_1.o", "ptx"}, {"data/model", std::string(300000, 'm')}};
const std::map<std::string, std::string> filesB{{"bin/app", "#!/bin/sh\necho B\n"},
                                                {"cache/k_1.o", "ptx"},
                                                {"data/model", std::string(300000, 'm')},
                                                {"data/new file", std::string(500000, 'n')}};

} // namespace

class TestDeploy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFirstDeployBecomesLive() {
        BoardFixture board;
        const auto package = board.package(filesA, "bin/app");
        const auto outcome = board.ship(package);
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        QCOMPARE(outcome->changed, true);
        QCOMPARE(outcome->healthOutput, std::string("A\n"));
        QCOMPARE(board.live("bin/app"), filesA.at("bin/app"));
        QCOMPARE(fs::read_symlink(board.at("current")).string(), "releases/" + package.manifest.releaseId());
        QCOMPARE(board.live("conf/manifest.json"), jsonText(package.manifest.toJson()));
        struct stat info{};
        QCOMPARE(::stat(board.at("current/bin/app").c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, 0755U);
        QCOMPARE(board.releases(), std::vector<std::string>{package.manifest.releaseId()});
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
        const auto log = readFile(board.at(".slipway/log.jsonl")).value();
        QVERIFY2(log.find("\"by\":\"tester@host\"") != std::string::npos &&
                     log.find("\"outcome\":\"live\"") != std::string::npos,
                 log.c_str());
    }

    void theSamePackageIsLiveAlreadyAndNothingIsSent() {
        BoardFixture board;
        const auto package = board.package(filesA);
        QVERIFY(board.ship(package));
        const auto plan = planDeploy(board.session, package, {}, board.progress).value();
        QVERIFY(plan.alreadyLive);
        const auto outcome = board.ship(package);
        QVERIFY(outcome);
        QCOMPARE(outcome->changed, false);
        QCOMPARE(outcome->bytesSent, std::uint64_t(0));
    }

    void whatChangedInTheLiveReleaseIsSentAgainAndNamed() {
        BoardFixture board;
        const auto package = board.package(filesA);
        QVERIFY(board.ship(package));
        QVERIFY(writeFileAtomically(board.at("current/cache/k_1.o"), "PTX"));
        fs::remove(board.at("current/bin/app"));
        const auto outcome = board.ship(package);
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        QCOMPARE(outcome->changed, false);
        QCOMPARE(outcome->repaired, (std::vector<std::string>{"bin/app", "cache/k_1.o"}));
        QCOMPARE(board.live("cache/k_1.o"), filesA.at("cache/k_1.o"));
        QCOMPARE(board.live("bin/app"), filesA.at("bin/app"));
        struct stat info{};
        QCOMPARE(::stat(board.at("current/bin/app").c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, 0755U);
        QVERIFY2(outcome->bytesSent < 1000, std::to_string(outcome->bytesSent).c_str());
        QCOMPARE(board.releases(), std::vector<std::string>{package.manifest.releaseId()});
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
        QCOMPARE(board.ship(package)->repaired, std::vector<std::string>());
    }

    void aRepairThatFailsLeavesTheLiveReleaseAsItWas() {
        BoardFixture board;
        const auto package = board.package(filesA);
        QVERIFY(board.ship(package));
        QVERIFY(writeFileAtomically(board.at("current/cache/k_1.o"), "PTX"));
        board.fakeTool("tar", "echo 'tar: No space left on device' >&2; exit 2\n");
        const auto outcome = board.ship(package);
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.find("disk is full") != std::string::npos, outcome.error().message.c_str());
        QCOMPARE(board.live("cache/k_1.o"), std::string("PTX"));
        QCOMPARE(board.releases(), std::vector<std::string>{package.manifest.releaseId()});
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
    }

    void aRebuiltBinaryOfTheSameSizeAndTimeReplacesTheOldOne() {
        BoardFixture board;
        QVERIFY(board.ship(board.package({{"bin/app", "old1"}, {"data/x", "same"}})));
        const auto outcome = board.ship(board.package({{"bin/app", "new2"}, {"data/x", "same"}}));
        QVERIFY(outcome);
        QCOMPARE(board.live("bin/app"), std::string("new2"));
        QCOMPARE(board.releases().size(), std::size_t(2));
    }

    void unchangedFilesAreHardLinksOfTheLiveRelease() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto first = board.liveId();
        const auto outcome = board.ship(board.package(filesB));
        QVERIFY(outcome);
        QVERIFY2(outcome->bytesSent < 510000, std::to_string(outcome->bytesSent).c_str());
        QVERIFY(fs::equivalent(board.at("current/data/model"), board.at("releases/" + first + "/data/model")));
        QVERIFY(!fs::equivalent(board.at("current/bin/app"), board.at("releases/" + first + "/bin/app")));
        QCOMPARE(board.live("data/new file"), filesB.at("data/new file"));
    }

    void aLinkedFileThatTheProgramOverwroteIsSentAgain() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        std::ofstream(board.at("current/data/model")) << "scribble";
        QVERIFY(board.ship(board.package(filesB)));
        QCOMPARE(board.live("data/model"), filesB.at("data/model"));
    }

    void aRunningExecutableIsReplaced() {
        BoardFixture board;
        const auto sleeper = readFile("/bin/sleep").value();
        QVERIFY(board.ship(board.package({{"bin/app", sleeper}})));
        const auto program = board.at("current/bin/app").string();
        const auto pid = ::fork();
        if (pid == 0) {
            ::execl(program.c_str(), "sleep", "30", nullptr);
            ::_exit(1);
        }
        const auto outcome = board.ship(board.package({{"bin/app", sleeper + "x"}}));
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        QCOMPARE(board.live("bin/app").size(), sleeper.size() + 1);
    }

    void killingTheHostAtAnyCommandLeavesThePreviousReleaseLive() {
        // Each round kills a deploy of B with SIGKILL before or after its n-th command, until one gets through.
        for (const bool afterwards : {false, true}) {
            bool through = false;
            for (int n = 1; n < 30 && !through; ++n) {
                BoardFixture board;
                board.options.confirm = std::chrono::seconds(1);
                QVERIFY(board.ship(board.package(filesA, "bin/app")));
                const auto good = board.liveId();
                const auto package = board.package(filesB, "bin/app");
                const int start = board.session.board().commands;
                const auto child = ::fork();
                if (child == 0) {
                    auto &hook = afterwards ? board.session.board().after : board.session.board().before;
                    hook = [&](int number, const std::string &) -> Result<void> {
                        if (number == start + n)
                            ::raise(SIGKILL);
                        return {};
                    };
                    ::_exit(board.ship(package) ? 0 : 1);
                }
                int status = 0;
                ::waitpid(child, &status, 0);
                through = WIFEXITED(status);
                const auto what = fmt::format("killed {} command {}", afterwards ? "after" : "before", n);
                if (through) {
                    QCOMPARE(WEXITSTATUS(status), 0);
                    QVERIFY2(n > 5, what.c_str());
                    break;
                }
                // After the switch it is the board's own timer that goes back, unless the release was marked good
                // before.
                const bool confirmed = fs::exists(board.at(".slipway/good/" + package.manifest.releaseId()));
                QTRY_VERIFY2_WITH_TIMEOUT(board.liveId() == (confirmed ? package.manifest.releaseId() : good),
                                          what.c_str(), 5000);
                const auto again = board.ship(package);
                QVERIFY2(again, again ? "" : (what + ": " + again.error().message).c_str());
                QCOMPARE(board.liveId(), package.manifest.releaseId());
                QCOMPARE(board.live("data/new file"), filesB.at("data/new file"));
            }
            QVERIFY(through);
        }
    }

    void killingTheHostInTheMiddleOfTheTransferLeavesThePreviousReleaseLive() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto good = board.liveId();
        const auto package = board.package(filesB);
        const auto child = ::fork();
        if (child == 0) {
            board.session.board().sending = [](std::uint64_t bytes) -> Result<void> {
                if (bytes > 200'000)
                    ::raise(SIGKILL);
                return {};
            };
            ::_exit(board.ship(package) ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFSIGNALED(status));
        QCOMPARE(board.liveId(), good);
        QCOMPARE(board.live("bin/app"), filesA.at("bin/app"));
        QVERIFY(board.ship(package));
        QCOMPARE(board.live("data/new file"), filesB.at("data/new file"));
    }

    void aDroppedLinkResumesWithoutSendingWhatArrived() {
        BoardFixture board;
        QVERIFY(board.ship(board.package({{"bin/app", "A"}})));
        const auto good = board.liveId();
        std::map<std::string, std::string> files{{"bin/app", "B"}};
        for (int i = 0; i < 8; ++i)
            files[fmt::format("data/part{}", i)] = std::string(400000, char('a' + i));
        const auto package = board.package(files);
        board.session.board().sending = [](std::uint64_t bytes) -> Result<void> {
            return bytes > 2'500'000 ? Result<void>(failAs(ErrorKind::unreachable, "the connection to board was lost"))
                                     : Result<void>();
        };
        const auto dropped = board.ship(package);
        QVERIFY(!dropped);
        QCOMPARE(dropped.error().kind, ErrorKind::unreachable);
        QCOMPARE(board.liveId(), good);
        board.session.board().sending = nullptr;
        QVERIFY(planDeploy(board.session, package, {}, board.progress)->resumes);
        const auto outcome = board.ship(package);
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        QVERIFY2(outcome->bytesSent < 1'300'000, std::to_string(outcome->bytesSent).c_str());
        QCOMPARE(board.live("data/part7"), files.at("data/part7"));
    }

    void aByteThatFlipsOnTheWayIsFoundAndThePreviousReleaseStaysLive() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto good = board.liveId();
        board.fakeTool("tar", "/usr/bin/tar \"$@\" || exit\nfor last do :; done\nprintf X | dd of=\"$last/data/new "
                              "file\" bs=1 seek=1000 conv=notrunc 2>/dev/null\n");
        const auto package = board.package(filesB);
        const auto outcome = board.ship(package);
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.starts_with("1 of 3 files arrived damaged on the board (data/new file)"),
                 outcome.error().message.c_str());
        QCOMPARE(board.liveId(), good);
        board.realTools();
        QVERIFY(board.ship(package));
        QCOMPARE(board.live("data/new file"), filesB.at("data/new file"));
    }

    void aFullDiskIsOneClearLineAndThePartialGoes() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto good = board.liveId();
        board.fakeTool("tar",
                       "cat > /dev/null\necho 'tar: data/model: Cannot write: No space left on device' >&2\nexit 2\n");
        const auto package = board.package(filesB);
        const auto outcome = board.ship(package);
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().message,
                 fmt::format(
                     "cannot unpack in {}: the board's disk is full; {} is still live, the partial upload was removed",
                     board.dest(), good));
        QCOMPARE(board.liveId(), good);
        QCOMPARE(board.releases(), std::vector<std::string>{good});
        board.realTools();
        QVERIFY(board.ship(package));
    }

    void aDestinationThatCannotBeMadeIsOneClearLine() {
        BoardFixture board;
        (void)writeFileAtomically(board.root() / "opt", "a file");
        const auto outcome = board.ship(board.package(filesA));
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.starts_with(
                     fmt::format("cannot prepare {}: mkdir: cannot create directory", board.dest())),
                 outcome.error().message.c_str());
        QVERIFY(outcome.error().message.find('\n') == std::string::npos);
    }

    void aForeignCurrentIsNeverReplaced() {
        BoardFixture board;
        fs::create_directories(board.at("current"));
        const auto outcome = board.ship(board.package(filesA));
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.find("is not a link that slipway made") != std::string::npos,
                 outcome.error().message.c_str());
    }

    void badDestinationsAreUsageErrors() {
        BoardFixture board;
        for (const auto *dest : {"relative/path", "/", "/opt/a\nb", " /opt/app"}) {
            const auto plan = planDeploy(board.session, board.package(filesA), dest, board.progress);
            QVERIFY2(!plan && plan.error().kind == ErrorKind::usage, dest);
        }
        board.session.board().environment["HOME"] = board.root().string();
        QCOMPARE(planDeploy(board.session, board.package(filesA), "~/my app", board.progress)->dest,
                 (board.root() / "my app").string());
    }

    void aLockOfALiveDeployIsRespectedAndAStaleOneIsNot() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto good = board.liveId();
        // Another deploy: a process that lives, whose lock is as the script writes it.
        const auto other = ::fork();
        if (other == 0) {
            ::pause();
            ::_exit(0);
        }
        const auto boot = readFile("/proc/sys/kernel/random/boot_id").value();
        const auto stat = readFile(fmt::format("/proc/{}/stat", other)).value();
        const auto fields = QString::fromStdString(stat.substr(stat.rfind(')') + 2)).split(' ');
        QVERIFY(writeFileAtomically(
            board.at(".slipway/lock"),
            fmt::format("n0\n{}\n{}\n{}2026-11-29 10:00:00 UTC\nanna@pc\n", other, fields[19].toStdString(), boot)));
        const auto refused = board.ship(board.package(filesB));
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("locked by anna@pc since 2026-11-29 10:00:00 UTC") != std::string::npos,
                 refused.error().message.c_str());
        QCOMPARE(board.liveId(), good);
        QVERIFY(fs::exists(board.at(".slipway/lock")));
        const auto outcome = board.ship(board.package(filesB));
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
    }

    void cancellingInTheMiddleActsWithinASecondAndChangesNothing() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(filesA)));
        const auto good = board.liveId();
        board.fakeTool("tar", "sleep 30\n"); // a board that takes nothing more
        const auto package = board.package({{"bin/app", std::string(4'000'000, 'x')}});
        const auto plan = planDeploy(board.session, package, {}, board.progress).value();
        std::stop_source stop;
        Progress progress([](const Event &) {}, stop.get_token());
        std::jthread canceller([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            stop.request_stop();
        });
        QElapsedTimer timer;
        timer.start();
        const auto outcome = deploy(board.session, plan, board.options, progress);
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::cancelled);
        QVERIFY2(timer.elapsed() < 1300, std::to_string(timer.elapsed()).c_str());
        QCOMPARE(board.liveId(), good);
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
    }

    void namesWithBlanksQuotesAndDashesArrive() {
        BoardFixture board;
        const std::map<std::string, std::string> files{{"bin/app", "x"},
                                                       {"data/it's \"here\" $HOME", "1"},
                                                       {"data/-rf", "2"},
                                                       {"data/modèle.bin", "3"},
                                                       {"data/ lead", "4"}};
        QVERIFY(board.ship(board.package(files)));
        for (const auto &[path, text] : files)
            QCOMPARE(board.live(path), text);
        auto more = files;
        more["bin/app"] = "y";
        const auto outcome = board.ship(board.package(more));
        QVERIFY(outcome);
        for (const auto &[path, text] : more)
            QCOMPARE(board.live(path), text);
    }
};

QTEST_APPLESS_MAIN(TestDeploy)
#include "tst_deploy.moc"
