// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/jobmodel.h"

#include <QMainWindow>

class QComboBox;
class QListWidget;
class QSplitter;
class QStackedWidget;
class QToolButton;

namespace slipway {

class ActivityPanel;
class Badge;
class CachePage;
class DevicesPage;
class ElidedLabel;
class PreflightPage;
class SysrootPage;

enum class Page { devices, preflight, sysroot, cache };

/// The window: pages on the left, the device that everything is about above, activity below.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(std::shared_ptr<Actions> actions, std::shared_ptr<Settings> settings, QWidget *parent = nullptr);

    ~MainWindow() override;

    void showPage(Page page);
    void selectDevice(const std::string &name) { m_boards.select(name); }
    /// Puts a package on the pre-flight page; checks it when asked.
    void openPackage(const QString &folder, bool check);
    /// The same against a device, which becomes the one to work with.
    void openPackageAgainst(const std::string &device, const QString &folder);
    void openCache(const fs::path &directory);
    void ship(const std::string &device, const QString &projectFolder);
    void showActivity(bool visible);
    void listReleases();
    void syncSysroot();
    void addDevice();
    [[nodiscard]] Boards &boards() { return m_boards; }
    [[nodiscard]] Jobs &jobs() { return m_jobs; }

protected:
    void closeEvent(QCloseEvent *event) override;

private:
    void buildPages();
    QWidget *buildNavigation();
    QWidget *buildSelector();
    void buildMenus();
    void buildFileMenu();
    void buildViewMenu();
    void buildHelpMenu();
    void buildStatus();
    void wireJobs();
    void restore();
    void fillSelector();
    void showJobsInStatus(int id);
    void closeWhenIdle();
    void about();

    std::shared_ptr<Settings> m_settings;
    Jobs m_jobs;
    JobModel m_jobModel;
    Boards m_boards;
    QListWidget *m_navigation;
    QStackedWidget *m_stack;
    DevicesPage *m_devices;
    PreflightPage *m_preflight;
    SysrootPage *m_sysroot;
    CachePage *m_cache;
    ActivityPanel *m_activity;
    QSplitter *m_split;
    QComboBox *m_selector;
    Badge *m_badge;
    ElidedLabel *m_status;
    QToolButton *m_activityButton;
    bool m_closing = false;
};

} // namespace slipway
