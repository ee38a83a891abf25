//! Notifications while a window has the role to raise them.

use std::sync::Arc;

use st_app::Problem;
use st_app::dto::TaskDto;
use st_app::notify::{Notice, Outcome, Raiser, notice_for};

/// Stands for no task in a notice that only tries the service.
const NO_TASK: u64 = 0;

/// Raises notifications and brings the right task up when one is clicked.
pub(crate) struct Notices {
    raiser: Raiser,
}

impl Notices {
    /// Clicking a notice calls `open` with its task, or with `None` for one that only tried the service.
    pub(crate) fn new(open: impl Fn(Option<u64>) + Send + Sync + 'static) -> Self {
        Self { raiser: Raiser::new(Arc::new(move |task| open(Some(task).filter(|task| *task != NO_TASK)))) }
    }

    /// A task changed.
    pub(crate) fn task_changed(&self, before: Option<&TaskDto>, now: &TaskDto) {
        if let Some(notice) = notice_for(before, now) {
            let raiser = self.raiser.clone();
            tauri::async_runtime::spawn(async move { raiser.raise(notice).await });
        }
    }

    /// Shows one on request.
    pub(crate) async fn test(&self) -> Result<String, Problem> {
        let notice = Notice {
            task: NO_TASK,
            title: "Notifications work".into(),
            body: "Sidetrack tells you here when a review finishes, stops early or fails.".into(),
            urgent: false,
            outcome: Outcome::Clean,
        };
        self.raiser.raise(notice).await;
        Ok("Sent. If none appeared, no notification service answers here; the checks say more.".into())
    }
}
