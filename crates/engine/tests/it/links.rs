//! Reviews whose patch is fetched first.

use st_model::event::EventKind;
use st_model::id::TaskRef;
use st_model::problem::ErrorCode;
use st_model::retry::FailureClass;
use st_model::review::ReviewSource;
use st_model::state::RestState;
use st_model::task::NewTask;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fixtures::{Bench, PATCH, done, finding, scripted};

/// A review of merge request 1 of a forge that listens on loopback.
fn review_of(forge: &TcpListener) -> NewTask {
    let address = forge.local_addr().unwrap();
    let url = format!("http://{address}/group/project/-/merge_requests/1");
    let mut task = scripted(ReviewSource::Link { url }, &[finding(1), done()]);
    task.context.configuration.insert(format!("forge.{address}"), format!("gitlab=http://{address}"));
    task
}

async fn answer(forge: &TcpListener, answer: &[u8]) {
    let (mut stream, _) = forge.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
    }
    stream.write_all(answer).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_stumbles_is_asked_again() {
    let (bench, forge) = (Bench::new(1).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let task = bench.engine.submit(review_of(&forge)).await.unwrap();
    let table = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/x-patch\r\nConnection: close\r\n\r\n| a | b |\n|---|---|\n";
    answer(&forge, table).await;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", PATCH.len());
    answer(&forge, &[head.as_bytes(), PATCH].concat()).await;
    let (task, rest) = bench.rest(task.id).await;
    assert_eq!((rest, task.attempts, task.findings.medium), (RestState::Done, 2, 1));
    let (class, problem) = bench
        .events(task.id)
        .await
        .into_iter()
        .find_map(|event| match event.kind {
            EventKind::Retrying { class, problem, .. } => Some((class, problem)),
            _ => None,
        })
        .unwrap();
    assert_eq!((class, problem.code), (FailureClass::Transient, ErrorCode::BadResponse));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_what_is_not_there_is_not_asked_for_again() {
    let (bench, forge) = (Bench::new(1).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let task = bench.engine.submit(review_of(&forge)).await.unwrap();
    answer(&forge, b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
    let (task, rest) = bench.rest(task.id).await;
    let RestState::Failed { problem } = rest else { panic!("{rest:?}") };
    assert_eq!((task.attempts, problem.code), (1, ErrorCode::NotFound));
    assert!(problem.fix[0].contains("private"), "{problem:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_patch_is_being_fetched_a_cancel_ends_it_at_once() {
    let (bench, forge) = (Bench::new(1).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let task = bench.engine.submit(review_of(&forge)).await.unwrap();
    // It never gets an answer.
    let _held = forge.accept().await.unwrap();
    bench.engine.cancel(TaskRef::Id(task.id), false).await.unwrap();
    assert_eq!(bench.rest(task.id).await.1, RestState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_ends_at_once_does_not_wait_for_a_silent_forge() {
    let (bench, forge) = (Bench::new(1).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let task = bench.engine.submit(review_of(&forge)).await.unwrap();
    let _held = forge.accept().await.unwrap();
    bench.engine.stop(true).await;
    let bench = bench.restarted(true).await;
    let _asked_again = forge.accept().await.unwrap();
    bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    let (after, rest) = bench.rest(task.id).await;
    assert_eq!((rest, after.attempts), (RestState::Cancelled, 1));
}
