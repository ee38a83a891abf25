//! The event stream: what subscribers are told is what the log holds, in the same order.

use std::sync::Arc;

use st_model::event::Event;
use st_model::finding::Severity;
use st_model::id::EventSeq;
use st_model::state::{Phase, RestState, Settlement};
use st_store::{Queue as _, Record, Store};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::fixtures::{Fixture, assert_sound, boot, finding, fresh_task};

async fn log(store: &Store) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let since = all.last().map_or(EventSeq(0), |event: &Event| event.seq);
        let page = store.events(since, None, 100).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn receive(subscriber: &mut Receiver<Arc<Event>>, count: usize) -> Vec<Event> {
    let mut received = Vec::new();
    while received.len() < count {
        received.push(Event::clone(&*subscriber.recv().await.unwrap()));
    }
    received
}

/// Events of one task's life in [`live`].
const LIFE: usize = 7;

async fn live(store: &Store) {
    let task = store.enqueue(fresh_task()).await.unwrap();
    let lease = store.claim(task.id, boot(1)).await.unwrap().unwrap();
    lease.enter(Phase::Review).await.unwrap();
    let records = vec![Record::Finding(Box::new(finding("f", Severity::Low))), Record::Note("said".into())];
    lease.record(records).await.unwrap();
    lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_writers_make_one_stream_without_a_gap() {
    let fixture = Fixture::new().await;
    let mut subscriber = fixture.store.subscribe();
    let writers: Vec<_> = (0..32)
        .map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move {
                for _ in 0..4 {
                    live(&store).await;
                }
            })
        })
        .collect();
    let received = receive(&mut subscriber, 32 * 4 * LIFE).await;
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(subscriber.try_recv().unwrap_err(), TryRecvError::Empty);
    let seqs: Vec<_> = received.iter().map(|event| event.seq.0).collect();
    let count = u64::try_from(received.len()).unwrap();
    assert_eq!(seqs, (1..=count).collect::<Vec<_>>());
    assert_eq!(received, log(&fixture.store).await);
    assert_sound(&fixture).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_comes_late_joins_log_and_stream_without_a_gap() {
    let fixture = Fixture::new().await;
    let writer = {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            for _ in 0..40 {
                live(&store).await;
            }
        })
    };
    let mut first = fixture.store.subscribe();
    first.recv().await.unwrap();
    // Subscribe, read the log, then take from the stream what is newer.
    let mut subscriber = fixture.store.subscribe();
    let mut seen: Vec<_> = log(&fixture.store).await.into_iter().map(|event| event.seq.0).collect();
    while seen.len() < 40 * LIFE {
        let event = subscriber.recv().await.unwrap();
        if event.seq.0 > *seen.last().unwrap() {
            seen.push(event.seq.0);
        }
    }
    writer.await.unwrap();
    let count = u64::try_from(seen.len()).unwrap();
    assert_eq!(seen, (1..=count).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_caller_with_its_answer_knows_the_subscribers_told() {
    let fixture = Fixture::new().await;
    let mut subscriber = fixture.store.subscribe();
    let task = fixture.store.enqueue(fresh_task()).await.unwrap();
    let event = subscriber.try_recv().unwrap();
    assert_eq!((event.task, event.seq), (task.id, EventSeq(1)));
    let read = fixture.store.events(EventSeq(0), None, 10).await.unwrap();
    assert_eq!(read, [Event::clone(&*event)], "and the log readable");
}

#[tokio::test]
async fn a_subscriber_that_lags_finds_the_gap_in_the_log() {
    let fixture = Fixture::new().await;
    let mut subscriber = fixture.store.subscribe();
    let task = fixture.store.enqueue(fresh_task()).await.unwrap();
    let lease = fixture.store.claim(task.id, boot(1)).await.unwrap().unwrap();
    lease.record((0..5000).map(|number| Record::Note(number.to_string())).collect()).await.unwrap();
    assert!(matches!(subscriber.recv().await, Err(RecvError::Lagged(_))));
    let newest = subscriber.recv().await.unwrap();
    let gap = fixture.store.events(EventSeq(0), None, u32::MAX).await.unwrap();
    let before: Vec<_> = gap.iter().map(|event| event.seq.0).take_while(|seq| *seq < newest.seq.0).collect();
    assert_eq!(before, (1..newest.seq.0).collect::<Vec<_>>());
    assert_eq!(gap.len(), 5003);
}
