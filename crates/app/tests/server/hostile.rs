//! Clients that mean no good, or do not know better.

use std::path::Path;

use st_app::protocol::{Call, MAX_LINE_BYTES, Reply, Response};
use st_app::socket::socket_path;
use st_testkit::PATIENCE;
use st_testkit::engine::submit;
use st_testkit::worker::{Step, script};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::{start, watch};

const HELLO: &str = r#"{"protocol":1,"version":"0.1.0","client":"test"}"#;

struct Raw(BufReader<UnixStream>);

impl Raw {
    async fn connect(data_dir: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(socket_path(data_dir)).await.unwrap()))
    }

    async fn greeted(data_dir: &Path) -> Self {
        let mut raw = Self::connect(data_dir).await;
        raw.send(HELLO.as_bytes()).await;
        assert!(raw.line().await.unwrap().contains("\"boot\""));
        raw
    }

    async fn send(&mut self, line: &[u8]) {
        self.0.write_all(line).await.unwrap();
        self.0.write_all(b"\n").await.unwrap();
    }

    /// The next line; `None` when the engine hung up.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("an answer") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }

    async fn error(&mut self) -> (u64, String) {
        let line = self.line().await.expect("an error reply");
        match serde_json::from_str(&line).unwrap() {
            Response { id, reply: Reply::Error(problem) } => (id, problem.code.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_line_that_is_no_request_is_answered_and_the_connection_stays() {
    let (engine, client) = start().await;
    let mut raw = Raw::greeted(engine.data_dir()).await;
    let deep = "[".repeat(100_000);
    let lines: [(&[u8], u64); 12] = [
        (b"", 0),
        (b"hello", 0),
        (b"{}", 0),
        (b"{\"id\":5}", 5),
        (b"{\"id\":6,\"call\":\"fly\"}", 6),
        (b"{\"id\":7,\"call\":\"show\"}", 7),
        (b"{\"id\":8,\"call\":\"show\",\"task\":8}", 8),
        (b"{\"id\":-1,\"call\":\"status\"}", 0),
        (b"\xff\xfe\x00\x01", 0),
        (b"{\"id\":9,\"call\":\"status\"} trailing", 0),
        (b"{\"id\":10,\"call\":\"log\",\"task\":\"1\",\"from\":99999999999999999999,\"limit\":1}", 10),
        (deep.as_bytes(), 0),
    ];
    for (line, id) in lines {
        raw.send(line).await;
        assert_eq!(raw.error().await, (id, "usage".to_owned()), "{}", String::from_utf8_lossy(&line[..line.len().min(60)]));
    }
    raw.send(br#"{"id":11,"call":"status"}"#).await;
    assert!(raw.line().await.unwrap().starts_with(r#"{"id":11,"reply":"status""#));
    client.call(Call::Status).await.unwrap();
    engine.stop().await;
}

#[tokio::test]
async fn a_line_longer_than_the_limit_is_answered_and_the_connection_ends() {
    let (engine, client) = start().await;
    let mut raw = Raw::greeted(engine.data_dir()).await;
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent <= MAX_LINE_BYTES && raw.0.write_all(&piece).await.is_ok() {
        sent += piece.len();
    }
    assert_eq!(raw.error().await, (0, "usage".to_owned()));
    assert_eq!(raw.line().await, None);
    client.call(Call::Status).await.unwrap();
    engine.stop().await;
}

#[tokio::test]
async fn who_does_not_greet_is_told_so_and_sent_away() {
    let (engine, client) = start().await;
    let long = "x".repeat(10_000);
    for line in ["GET / HTTP/1.1", r#"{"id":1,"call":"stop"}"#, "[]", long.as_str()] {
        let mut raw = Raw::connect(engine.data_dir()).await;
        raw.send(line.as_bytes()).await;
        assert_eq!(raw.error().await, (0, "usage".to_owned()), "{line:.40}");
        assert_eq!(raw.line().await, None);
    }
    client.call(Call::Status).await.unwrap();
    engine.stop().await;
}

#[tokio::test]
async fn a_client_of_another_protocol_can_say_stop_and_nothing_else() {
    let (engine, _client) = start().await;
    let mut raw = Raw::connect(engine.data_dir()).await;
    raw.send(br#"{"protocol":99,"version":"9.0.0","client":"future","more":[1]}"#).await;
    assert!(raw.line().await.unwrap().contains(r#""protocol":1"#));
    raw.send(br#"{"id":1,"call":"status"}"#).await;
    assert_eq!(raw.error().await, (1, "version_mismatch".to_owned()));
    raw.send(br#"{"id":2,"call":"stop"}"#).await;
    assert_eq!(raw.line().await.unwrap(), "{\"id\":2,\"reply\":\"ok\"}\n");
    assert_eq!(raw.line().await, None);
    engine.ended().await;
}

#[tokio::test]
async fn who_closes_its_side_still_gets_what_it_asked_for() {
    let (engine, _client) = start().await;
    let mut raw = Raw::connect(engine.data_dir()).await;
    raw.send(HELLO.as_bytes()).await;
    for id in 1..=10 {
        raw.send(format!(r#"{{"id":{id},"call":"status"}}"#).as_bytes()).await;
    }
    raw.0.get_mut().shutdown().await.unwrap();
    let mut text = String::new();
    timeout(PATIENCE, raw.0.read_to_string(&mut text)).await.expect("the engine hangs up").unwrap();
    assert_eq!(text.lines().count(), 11);
    engine.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_delays_nobody() {
    let (engine, client) = start().await;
    let mut stuck = Vec::new();
    for _ in 0..4 {
        let mut raw = Raw::greeted(engine.data_dir()).await;
        raw.send(br#"{"id":1,"call":"subscribe","since":0}"#).await;
        stuck.push(raw);
    }
    let mut asking = Raw::greeted(engine.data_dir()).await;
    // Asks without end and takes no answer, until the socket is full in both directions.
    let asked = timeout(std::time::Duration::from_secs(2), async {
        loop {
            asking.send(br#"{"id":1,"call":"doctor"}"#).await;
        }
    });
    let mut watcher = watch(&client, None).await;
    let task = submit(&client, &script(&[Step::CoveredMany(3000), Step::Done])).await;
    let (_, row) = tokio::join!(asked, watcher.rest(task.number));
    assert_eq!(row.covered.get("reviewed"), Some(&3000));
    engine.stop().await;
}

#[tokio::test]
async fn more_clients_than_are_taken_are_turned_away_and_the_others_stay() {
    let (engine, client) = start().await;
    let mut raws = Vec::new();
    for _ in 0..300 {
        raws.push(Raw::connect(engine.data_dir()).await);
    }
    let mut taken = 0;
    for raw in &mut raws {
        // One that was turned away may already be closed.
        if raw.0.write_all(format!("{HELLO}\n").as_bytes()).await.is_ok() && raw.line().await.is_some() {
            taken += 1;
        }
    }
    assert!((200..=256).contains(&taken), "{taken}");
    client.call(Call::Status).await.unwrap();
    drop(raws);
    st_testkit::until("there is room again", async || st_testkit::engine::try_client(engine.data_dir(), "test").await.is_ok()).await;
    engine.stop().await;
}

#[tokio::test]
async fn a_second_subscription_on_a_connection_is_refused() {
    let (engine, _client) = start().await;
    let mut raw = Raw::greeted(engine.data_dir()).await;
    raw.send(br#"{"id":1,"call":"subscribe"}"#).await;
    assert!(raw.line().await.unwrap().starts_with(r#"{"id":1,"reply":"snapshot""#));
    raw.send(br#"{"id":2,"call":"subscribe"}"#).await;
    assert_eq!(raw.error().await, (2, "usage".to_owned()));
    engine.stop().await;
}
