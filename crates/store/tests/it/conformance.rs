//! What every queue must do, whatever stands behind the port. Each rule is a function over any
//! [`Queue`]; the macro at the end runs them all on ours.

use std::time::Duration;

use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::event::{Event, EventKind};
use st_model::finding::Severity;
use st_model::id::{EventSeq, TaskId, TaskNumber, TaskRef};
use st_model::retry::FailureClass;
use st_model::state::{Activity, Phase, RestState, Settlement, StopCause, TaskEvent, TaskState};
use st_model::task::{Priority, Task};
use st_model::time::Timestamp;
use st_store::{CoverageCount, Lease, Queue, Record, StoreError, TaskFilter};
use uuid::Uuid;

use crate::fixtures::{Fixture, START, boot, finding, fresh_task, line, problem};

/// A queue under test with the means to move its clock.
pub(crate) struct Subject<Q> {
    pub(crate) queue: Q,
    pub(crate) advance: Box<dyn Fn(u64) + Send + Sync>,
}

async fn queued<Q: Queue>(subject: &Subject<Q>) -> Task {
    subject.queue.enqueue(fresh_task()).await.unwrap()
}

async fn running<Q: Queue>(subject: &Subject<Q>) -> (Task, Lease) {
    let task = queued(subject).await;
    let lease = subject.queue.claim(task.id, boot(1)).await.unwrap().unwrap();
    (lease.task().clone(), lease)
}

async fn reread<Q: Queue>(subject: &Subject<Q>, task: TaskId) -> Task {
    subject.queue.task(TaskRef::Id(task)).await.unwrap()
}

async fn told<Q: Queue>(subject: &Subject<Q>, task: TaskId) -> Vec<Event> {
    subject.queue.events(EventSeq(0), Some(task), 1000).await.unwrap()
}

async fn kinds<Q: Queue>(subject: &Subject<Q>, task: TaskId) -> Vec<&'static str> {
    told(subject, task).await.iter().map(|event| event.kind.name()).collect()
}

fn retry() -> Settlement {
    Settlement::Retry { retry_at: Timestamp(START + 5000), class: FailureClass::Transient, problem: problem() }
}

async fn an_enqueued_task_reads_back_whole<Q: Queue>(subject: Subject<Q>) {
    let new = fresh_task();
    let task = subject.queue.enqueue(new.clone()).await.unwrap();
    assert_eq!(task.submitted, new);
    assert_eq!((task.id, task.priority, &task.state), (new.id, new.priority, &TaskState::Queued));
    assert_eq!((task.attempt, task.attempts, task.created_at), (None, 0, Timestamp(START)));
    assert_eq!(reread(&subject, new.id).await, task);
    assert_eq!(subject.queue.task(TaskRef::Number(task.number)).await.unwrap(), task);
    let events = told(&subject, task.id).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].kind, EventKind::Submitted { title: new.title });
    assert_eq!((events[0].number, events[0].at), (task.number, Timestamp(START)));
}

async fn a_second_enqueue_of_an_id_returns_the_first_row<Q: Queue>(subject: Subject<Q>) {
    let new = fresh_task();
    let first = subject.queue.enqueue(new.clone()).await.unwrap();
    (subject.advance)(10);
    let mut other = new.clone();
    other.title = "Another title".into();
    assert_eq!(subject.queue.enqueue(other).await.unwrap(), first);
    assert_eq!(kinds(&subject, new.id).await, ["submitted"]);
    let next = queued(&subject).await;
    assert_eq!(next.number, TaskNumber(first.number.0 + 1), "the second enqueue used up no number");
}

async fn an_unknown_task_is_said_to_be_unknown<Q: Queue>(subject: Subject<Q>) {
    let id = TaskId(Uuid::from_u128(99));
    let queue = &subject.queue;
    assert!(matches!(queue.task(TaskRef::Id(id)).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.task(TaskRef::Number(TaskNumber(u64::MAX))).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.claim(id, boot(1)).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.apply(id, TaskEvent::Cancel).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.set_priority(id, Priority::High).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.findings(id).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.coverage(id).await, Err(StoreError::UnknownTask)));
    assert!(matches!(queue.attempts(id).await, Err(StoreError::UnknownTask)));
}

async fn tasks_are_listed_newest_first_by_state_and_number<Q: Queue>(subject: Subject<Q>) {
    let first = queued(&subject).await;
    let second = queued(&subject).await;
    let (third, _lease) = running(&subject).await;
    let list = async |states: &[&str], limit| {
        let states = states.iter().map(|&state| state.to_owned()).collect();
        let tasks = subject.queue.tasks(TaskFilter { states, limit }).await.unwrap();
        tasks.into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(list(&[], None).await, [third.id, second.id, first.id]);
    assert_eq!(list(&[], Some(1)).await, [third.id]);
    assert_eq!(list(&["queued"], None).await, [second.id, first.id]);
    assert_eq!(list(&["queued", "running"], Some(2)).await, [third.id, second.id]);
    assert_eq!(list(&["done"], None).await, []);
}

async fn open_tasks_are_those_not_at_rest_in_order_of_submission<Q: Queue>(subject: Subject<Q>) {
    let waiting = queued(&subject).await;
    let (done, lease) = running(&subject).await;
    lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
    let (retrying, lease) = running(&subject).await;
    lease.settle(retry()).await.unwrap();
    let (at_work, _lease) = running(&subject).await;
    let open: Vec<_> = subject.queue.open_tasks().await.unwrap().into_iter().map(|task| task.id).collect();
    assert_eq!(open, [waiting.id, retrying.id, at_work.id]);
    assert!(!open.contains(&done.id));
}

async fn a_claim_takes_a_queued_task_once<Q: Queue>(subject: Subject<Q>) {
    let task = queued(&subject).await;
    (subject.advance)(7);
    let lease = subject.queue.claim(task.id, boot(1)).await.unwrap().unwrap();
    assert_eq!((lease.held().number, lease.held().boot), (1, boot(1)));
    let now = reread(&subject, task.id).await;
    assert_eq!(&now, lease.task());
    assert_eq!(now.state, TaskState::Running { lease: *lease.held(), activity: Activity::Working { phase: Phase::Pin } });
    assert_eq!((now.attempt, now.attempts, now.started_at), (Some(lease.held().attempt), 1, Some(Timestamp(START + 7))));
    assert_eq!(kinds(&subject, task.id).await, ["submitted", "started", "phase_entered"]);
    assert!(subject.queue.claim(task.id, boot(1)).await.unwrap().is_none());
    assert!(subject.queue.claim(task.id, boot(2)).await.unwrap().is_none());
    assert_eq!(kinds(&subject, task.id).await.len(), 3, "a claim that got nothing told nothing");
}

async fn of_many_claims_at_once_one_wins<Q: Queue>(subject: Subject<Q>) {
    let task = queued(&subject).await;
    let claims: Vec<_> = (0..16)
        .map(|number| {
            let queue = subject.queue.clone();
            tokio::spawn(async move { queue.claim(task.id, boot(number)).await.unwrap() })
        })
        .collect();
    let mut won = Vec::new();
    for claim in claims {
        won.extend(claim.await.unwrap());
    }
    assert_eq!(won.len(), 1);
    assert_eq!(subject.queue.attempts(task.id).await.unwrap().len(), 1);
}

async fn phases_are_entered_and_told<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    lease.enter(Phase::Pin).await.unwrap();
    let reviewing = lease.enter(Phase::Review).await.unwrap();
    assert_eq!(reviewing.state, TaskState::Running { lease: *lease.held(), activity: Activity::Working { phase: Phase::Review } });
    lease.enter(Phase::Report).await.unwrap();
    let phases: Vec<_> = told(&subject, task.id)
        .await
        .into_iter()
        .filter_map(|event| if let EventKind::PhaseEntered { phase } = event.kind { Some(phase) } else { None })
        .collect();
    assert_eq!(phases, [Phase::Pin, Phase::Review, Phase::Report]);
}

async fn each_settlement_leads_where_the_table_says<Q: Queue>(subject: Subject<Q>) {
    let rests = [RestState::Done, RestState::Partial { problem: problem() }, RestState::Failed { problem: problem() }];
    for rest in rests {
        let (task, lease) = running(&subject).await;
        (subject.advance)(1);
        let after = lease.settle(Settlement::Rest(rest.clone())).await.unwrap();
        assert_eq!(after.state, TaskState::Resting { rest: rest.clone() });
        assert!(after.finished_at > task.started_at);
        assert_eq!(reread(&subject, task.id).await, after);
        let last = told(&subject, task.id).await.pop().unwrap();
        assert_eq!(last.kind, EventKind::Settled { state: rest.name().into(), problem: rest.problem().cloned() });
        let attempts = subject.queue.attempts(task.id).await.unwrap();
        assert_eq!(attempts.len(), 1);
        assert_eq!((attempts[0].number, Some(attempts[0].id)), (1, after.attempt));
        assert_eq!((attempts[0].how.as_deref(), attempts[0].ended_at), (Some(rest.name()), after.finished_at));
    }
}

async fn a_retry_waits_for_its_time_and_counts_its_attempt<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let after = lease.settle(retry()).await.unwrap();
    assert_eq!(after.state, TaskState::Retrying { retry_at: Timestamp(START + 5000), class: FailureClass::Transient, problem: problem() });
    assert_eq!((after.attempts, after.finished_at), (1, None));
    assert_eq!(reread(&subject, task.id).await, after);
    assert!(subject.queue.claim(task.id, boot(1)).await.unwrap().is_none(), "not before it is due");
    assert_eq!(subject.queue.apply(task.id, TaskEvent::Due).await.unwrap().state, TaskState::Queued);
    let lease = subject.queue.claim(task.id, boot(1)).await.unwrap().unwrap();
    assert_eq!((lease.held().number, lease.task().attempts), (2, 2));
    assert_eq!(lease.task().started_at, Some(Timestamp(START)), "the first attempt's start stays");
    assert_eq!(
        kinds(&subject, task.id).await,
        ["submitted", "started", "phase_entered", "retrying", "requeued", "started", "phase_entered"]
    );
    let how: Vec<_> = subject.queue.attempts(task.id).await.unwrap().into_iter().map(|attempt| (attempt.number, attempt.how)).collect();
    assert_eq!(how, [(1, Some("retrying".into())), (2, None)]);
}

async fn a_requeued_attempt_does_not_count<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let first = *lease.held();
    subject.queue.apply(task.id, TaskEvent::Stop(StopCause::EngineStop)).await.unwrap();
    let after = lease.settle(Settlement::Requeue).await.unwrap();
    assert_eq!((after.state, after.attempts, after.attempt), (TaskState::Queued, 0, Some(first.attempt)));
    let lease = subject.queue.claim(task.id, boot(1)).await.unwrap().unwrap();
    assert_eq!(lease.held().number, 1, "the number is given again");
    assert!(lease.held().fence > first.fence, "the fence is not");
    assert_ne!(lease.held().attempt, first.attempt);
}

async fn a_waiting_task_is_cancelled_at_once<Q: Queue>(subject: Subject<Q>) {
    let task = queued(&subject).await;
    let after = subject.queue.apply(task.id, TaskEvent::Cancel).await.unwrap();
    assert_eq!((after.state, after.finished_at), (TaskState::Resting { rest: RestState::Cancelled }, Some(Timestamp(START))));
    let (task, lease) = running(&subject).await;
    lease.settle(retry()).await.unwrap();
    let after = subject.queue.apply(task.id, TaskEvent::Cancel).await.unwrap();
    assert_eq!(after.state, TaskState::Resting { rest: RestState::Cancelled });
    assert_eq!(kinds(&subject, task.id).await.last(), Some(&"settled"));
}

async fn a_running_task_is_cancelled_only_when_its_attempt_settles<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    assert!(matches!(subject.queue.apply(task.id, TaskEvent::Cancel).await, Err(StoreError::Illegal(_))));
    subject.queue.apply(task.id, TaskEvent::Stop(StopCause::TimedOut)).await.unwrap();
    subject.queue.apply(task.id, TaskEvent::Stop(StopCause::EngineStop)).await.unwrap();
    let stopping = subject.queue.apply(task.id, TaskEvent::Stop(StopCause::Cancelled)).await.unwrap();
    assert_eq!(stopping.state, TaskState::Running { lease: *lease.held(), activity: Activity::Stopping { cause: StopCause::Cancelled } });
    assert!(matches!(lease.enter(Phase::Report).await, Err(StoreError::Illegal(_))));
    lease.record(vec![Record::Note("its last words".into())]).await.unwrap();
    let after = lease.settle(Settlement::Rest(RestState::Cancelled)).await.unwrap();
    assert_eq!(after.state, TaskState::Resting { rest: RestState::Cancelled });
    assert_eq!(
        kinds(&subject, task.id).await,
        ["submitted", "started", "phase_entered", "stopping", "stopping", "note", "settled"],
        "the second stop changed nothing and told nothing"
    );
}

async fn a_settlement_that_is_illegal_leaves_the_attempt_running<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let outcome = lease.settle(Settlement::Rest(RestState::Cancelled)).await;
    assert!(matches!(outcome, Err(StoreError::Illegal(_))), "cancelled without a stop");
    assert_eq!(reread(&subject, task.id).await, task);
    let (task, lease) = running(&subject).await;
    let outcome = lease.settle(Settlement::RollBack { then: RestState::Done }).await;
    assert!(matches!(outcome, Err(StoreError::Illegal(_))), "a task that changed nothing has nothing to undo");
    assert_eq!(reread(&subject, task.id).await, task);
}

async fn a_task_at_rest_takes_nothing_more<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let after = lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
    let events = kinds(&subject, task.id).await;
    for event in [TaskEvent::Cancel, TaskEvent::Stop(StopCause::Cancelled), TaskEvent::Due] {
        assert!(matches!(subject.queue.apply(task.id, event).await, Err(StoreError::Illegal(_))));
    }
    assert!(matches!(subject.queue.set_priority(task.id, Priority::High).await, Err(StoreError::Illegal(_))));
    assert!(subject.queue.claim(task.id, boot(1)).await.unwrap().is_none());
    assert!(subject.queue.recover(boot(9)).await.unwrap().is_empty());
    assert_eq!((reread(&subject, task.id).await, kinds(&subject, task.id).await), (after, events));
}

async fn events_that_need_a_lease_are_refused_without_one<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    for event in [
        TaskEvent::Claim(*lease.held()),
        TaskEvent::Enter(Phase::Review),
        TaskEvent::Settle(Settlement::Rest(RestState::Done)),
        TaskEvent::EngineLost,
        TaskEvent::RollBack,
    ] {
        assert!(matches!(subject.queue.apply(task.id, event).await, Err(StoreError::Illegal(_))));
    }
    assert_eq!(reread(&subject, task.id).await, task);
}

async fn a_priority_changes_until_the_task_rests<Q: Queue>(subject: Subject<Q>) {
    let task = queued(&subject).await;
    assert_eq!(subject.queue.set_priority(task.id, Priority::High).await.unwrap().priority, Priority::High);
    assert_eq!(subject.queue.set_priority(task.id, Priority::High).await.unwrap().priority, Priority::High);
    let lease = subject.queue.claim(task.id, boot(1)).await.unwrap().unwrap();
    subject.queue.set_priority(task.id, Priority::Low).await.unwrap();
    lease.enter(Phase::Review).await.unwrap();
    let now = reread(&subject, task.id).await;
    assert_eq!((now.priority, now.submitted.priority), (Priority::Low, Priority::Normal));
    let changes = kinds(&subject, task.id).await.iter().filter(|&&kind| kind == "priority_changed").count();
    assert_eq!(changes, 2);
}

async fn findings_are_numbered_counted_and_kept_once<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let found = |fingerprint, severity| Record::Finding(Box::new(finding(fingerprint, severity)));
    lease.record(vec![found("a", Severity::High), found("b", Severity::Low), found("a", Severity::High)]).await.unwrap();
    lease.record(vec![found("b", Severity::Low), found("c", Severity::Medium), found("d", Severity::Info)]).await.unwrap();
    let findings = subject.queue.findings(task.id).await.unwrap();
    let numbered: Vec<_> = findings.iter().map(|finding| (finding.id, finding.fingerprint.as_str())).collect();
    assert_eq!(numbered, [(1, "a"), (2, "b"), (3, "c"), (4, "d")]);
    let mut first = finding("a", Severity::High);
    first.id = 1;
    assert_eq!(findings[0], first);
    let counts = reread(&subject, task.id).await.findings;
    assert_eq!((counts.high, counts.medium, counts.low, counts.info), (1, 1, 1, 1));
    let told: Vec<_> = told(&subject, task.id)
        .await
        .into_iter()
        .filter_map(|event| if let EventKind::Finding { finding } = event.kind { Some(*finding) } else { None })
        .collect();
    assert_eq!(told, findings);
}

async fn a_rerun_adds_no_finding_twice<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let records =
        || vec![Record::Finding(Box::new(finding("a", Severity::High))), Record::Covered(line(b"a.rs", CoverageStatus::Reviewed))];
    lease.record(records()).await.unwrap();
    let before = (subject.queue.findings(task.id).await.unwrap(), subject.queue.coverage(task.id).await.unwrap());
    subject.queue.recover(boot(2)).await.unwrap();
    let lease = subject.queue.claim(task.id, boot(2)).await.unwrap().unwrap();
    lease.record(records()).await.unwrap();
    let after = (subject.queue.findings(task.id).await.unwrap(), subject.queue.coverage(task.id).await.unwrap());
    assert_eq!(before, after);
    let now = reread(&subject, task.id).await;
    assert_eq!((now.findings.total(), now.covered), (1, 1));
    let kinds = kinds(&subject, task.id).await;
    assert_eq!(kinds.iter().filter(|&&kind| matches!(kind, "finding" | "covered")).count(), 2);
}

async fn the_newest_line_on_a_path_wins_in_the_ledger<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    let failed = CoverageStatus::Failed("a reader died".into());
    let covered = |path: &[u8], status: &CoverageStatus| Record::Covered(line(path, status.clone()));
    lease.record(vec![covered(b"z\xff", &failed), covered(b"a", &CoverageStatus::Reviewed)]).await.unwrap();
    lease.record(vec![covered(b"z\xff", &CoverageStatus::Reviewed), covered(b"a", &CoverageStatus::Reviewed)]).await.unwrap();
    let binary = CoverageStatus::Skipped(SkipReason::Binary);
    lease.record(vec![covered(b"m", &failed), covered(b"m", &binary)]).await.unwrap();
    assert_eq!(
        subject.queue.coverage(task.id).await.unwrap(),
        [line(b"a", CoverageStatus::Reviewed), line(b"m", binary), line(b"z\xff", CoverageStatus::Reviewed)]
    );
    assert_eq!(reread(&subject, task.id).await.covered, 3);
    assert_eq!(kinds(&subject, task.id).await.iter().filter(|&&kind| kind == "covered").count(), 5, "a line that says the same is no news");

    // Counted, the words of what went wrong are left out.
    lease.record(vec![covered(b"p", &CoverageStatus::Partial("cut at line 9".into())), covered(b"q", &failed)]).await.unwrap();
    lease.record(vec![covered(b"r", &CoverageStatus::Failed("another \"reason\"".into()))]).await.unwrap();
    let mut counts = subject.queue.coverage_counts(&[task.number, TaskNumber(999)]).await.unwrap();
    counts.sort_by_key(|count| format!("{:?}", count.status));
    let count = |status, files| CoverageCount { task: task.number, status, files };
    let expected = [
        count(CoverageStatus::Failed(String::new()), 2),
        count(CoverageStatus::Partial(String::new()), 1),
        count(CoverageStatus::Reviewed, 2),
        count(CoverageStatus::Skipped(SkipReason::Binary), 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(subject.queue.coverage_counts(&[]).await.unwrap(), []);
}

async fn pinning_sets_its_time_and_notes_change_nothing<Q: Queue>(subject: Subject<Q>) {
    let (task, lease) = running(&subject).await;
    (subject.advance)(3);
    lease.record(vec![Record::Pinned { files: Some(4) }, Record::Note("odd".into())]).await.unwrap();
    lease.record(Vec::new()).await.unwrap();
    let now = reread(&subject, task.id).await;
    assert_eq!(now, Task { pinned_at: Some(Timestamp(START + 3)), ..task });
    assert_eq!(kinds(&subject, now.id).await[3..], ["pinned", "note"]);
}

async fn recovery_ends_the_attempts_of_other_engines_only<Q: Queue>(subject: Subject<Q>) {
    let waiting = queued(&subject).await;
    let (ours, _ours) = {
        let task = queued(&subject).await;
        let lease = subject.queue.claim(task.id, boot(2)).await.unwrap().unwrap();
        (lease.task().clone(), lease)
    };
    let (lost, _lease) = running(&subject).await;
    let (stopped, _lease) = running(&subject).await;
    subject.queue.apply(stopped.id, TaskEvent::Stop(StopCause::Cancelled)).await.unwrap();
    let recovered = subject.queue.recover(boot(2)).await.unwrap();
    let ids: Vec<_> = recovered.iter().map(|recovered| recovered.task.id).collect();
    assert_eq!(ids, [lost.id, stopped.id]);
    let now = reread(&subject, lost.id).await;
    assert_eq!(now, recovered[0].task);
    assert_eq!((&now.state, now.attempts, now.attempt), (&TaskState::Queued, 0, lost.attempt));
    assert_eq!(reread(&subject, stopped.id).await.state, TaskState::Resting { rest: RestState::Cancelled });
    assert_eq!(reread(&subject, ours.id).await, ours);
    assert_eq!(reread(&subject, waiting.id).await, waiting);
    assert_eq!(kinds(&subject, lost.id).await.last(), Some(&"requeued"));
    assert_eq!(kinds(&subject, stopped.id).await.last(), Some(&"settled"));
    assert_eq!(subject.queue.attempts(lost.id).await.unwrap()[0].how.as_deref(), Some("engine_lost"));
    assert!(subject.queue.recover(boot(2)).await.unwrap().is_empty(), "once is enough");
}

async fn recovery_returns_the_process_that_was_recorded<Q: Queue>(subject: Subject<Q>) {
    let (with, lease) = running(&subject).await;
    lease.record_process(4242, u64::MAX - 1, "machine-boot").await.unwrap();
    let (without, _lease) = running(&subject).await;
    let recovered = subject.queue.recover(boot(2)).await.unwrap();
    assert_eq!(recovered[1].task.id, without.id);
    assert_eq!(recovered[1].process, None);
    assert_eq!(recovered[0].task.id, with.id);
    let process = recovered[0].process.clone().unwrap();
    assert_eq!((process.pid, process.start_ticks, process.machine_boot.as_str()), (4242, u64::MAX - 1, "machine-boot"));
    assert_eq!(Some(process.attempt), with.attempt);
}

async fn a_lost_lease_writes_nothing<Q: Queue>(subject: Subject<Q>) {
    let (task, old) = running(&subject).await;
    subject.queue.recover(boot(2)).await.unwrap();
    let refused = async |lease: Lease| {
        let before = (reread(&subject, task.id).await, told(&subject, task.id).await);
        let records = vec![
            Record::Note("late".into()),
            Record::Pinned { files: None },
            Record::Finding(Box::new(finding("late", Severity::High))),
            Record::Covered(line(b"late", CoverageStatus::Reviewed)),
        ];
        assert!(matches!(lease.record(records).await, Err(StoreError::LeaseLost)));
        assert!(matches!(lease.record(Vec::new()).await, Err(StoreError::LeaseLost)));
        assert!(matches!(lease.enter(Phase::Review).await, Err(StoreError::LeaseLost)));
        assert!(matches!(lease.record_process(1, 1, "b").await, Err(StoreError::LeaseLost)));
        assert!(matches!(lease.settle(Settlement::Rest(RestState::Done)).await, Err(StoreError::LeaseLost)));
        assert_eq!((reread(&subject, task.id).await, told(&subject, task.id).await), before);
        assert!(subject.queue.findings(task.id).await.unwrap().is_empty());
        assert!(subject.queue.coverage(task.id).await.unwrap().is_empty());
    };
    // Back in the queue, and then in the hands of another: by the same engine's boot id too.
    let (_, again) = running(&subject).await;
    subject.queue.recover(boot(2)).await.unwrap();
    refused(old).await;
    drop(again);
    let first = subject.queue.claim(task.id, boot(2)).await.unwrap().unwrap();
    subject.queue.recover(boot(3)).await.unwrap();
    let second = subject.queue.claim(task.id, boot(2)).await.unwrap().unwrap();
    assert_eq!((first.held().number, first.held().boot), (second.held().number, second.held().boot));
    refused(first).await;
    second.settle(Settlement::Rest(RestState::Done)).await.unwrap();
}

async fn events_are_numbered_without_gaps_and_paged<Q: Queue>(subject: Subject<Q>) {
    assert_eq!(subject.queue.last_seq().await.unwrap(), EventSeq(0));
    for _ in 0..10 {
        let (_, lease) = running(&subject).await;
        lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
    }
    let last = subject.queue.last_seq().await.unwrap();
    assert_eq!(last, EventSeq(40));
    let mut paged = Vec::new();
    let mut since = EventSeq(0);
    loop {
        let page = subject.queue.events(since, None, 7).await.unwrap();
        let Some(newest) = page.last() else { break };
        since = newest.seq;
        paged.extend(page.into_iter().map(|event| event.seq.0));
    }
    assert_eq!(paged, (1..=40).collect::<Vec<_>>());
    assert!(subject.queue.events(EventSeq(u64::MAX), None, 7).await.unwrap().is_empty());
}

async fn settings_are_set_replaced_and_removed<Q: Queue>(subject: Subject<Q>) {
    let queue = &subject.queue;
    assert_eq!(queue.setting("slots").await.unwrap(), None);
    queue.set_setting("slots", Some("2")).await.unwrap();
    queue.set_setting("slots", Some("3")).await.unwrap();
    queue.set_setting("paused", Some("")).await.unwrap();
    assert_eq!(queue.setting("slots").await.unwrap().as_deref(), Some("3"));
    assert_eq!(queue.settings().await.unwrap(), [("paused".into(), String::new()), ("slots".into(), "3".into())]);
    queue.set_setting("slots", None).await.unwrap();
    queue.set_setting("never-set", None).await.unwrap();
    assert_eq!(queue.settings().await.unwrap(), [("paused".into(), String::new())]);
}

macro_rules! on_sqlite {
    ($($rule:ident),+ $(,)?) => {
        $(
            mod $rule {
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn on_sqlite() {
                    let fixture = super::Fixture::new().await;
                    let clock = fixture.clock.clone();
                    let advance = Box::new(move |millis| clock.advance(super::Duration::from_millis(millis)));
                    super::$rule(super::Subject { queue: fixture.store.clone(), advance }).await;
                    crate::fixtures::assert_sound(&fixture).await;
                }
            }
        )+
    };
}

on_sqlite!(
    an_enqueued_task_reads_back_whole,
    a_second_enqueue_of_an_id_returns_the_first_row,
    an_unknown_task_is_said_to_be_unknown,
    tasks_are_listed_newest_first_by_state_and_number,
    open_tasks_are_those_not_at_rest_in_order_of_submission,
    a_claim_takes_a_queued_task_once,
    of_many_claims_at_once_one_wins,
    phases_are_entered_and_told,
    each_settlement_leads_where_the_table_says,
    a_retry_waits_for_its_time_and_counts_its_attempt,
    a_requeued_attempt_does_not_count,
    a_waiting_task_is_cancelled_at_once,
    a_running_task_is_cancelled_only_when_its_attempt_settles,
    a_settlement_that_is_illegal_leaves_the_attempt_running,
    a_task_at_rest_takes_nothing_more,
    events_that_need_a_lease_are_refused_without_one,
    a_priority_changes_until_the_task_rests,
    findings_are_numbered_counted_and_kept_once,
    a_rerun_adds_no_finding_twice,
    the_newest_line_on_a_path_wins_in_the_ledger,
    pinning_sets_its_time_and_notes_change_nothing,
    recovery_ends_the_attempts_of_other_engines_only,
    recovery_returns_the_process_that_was_recorded,
    a_lost_lease_writes_nothing,
    events_are_numbered_without_gaps_and_paged,
    settings_are_set_replaced_and_removed,
);
