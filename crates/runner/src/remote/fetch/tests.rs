//! Against a small server of our own, on loopback.

use std::io::Write as _;
use std::sync::Mutex;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::remote::parse_link;

const PATCH: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
const MIB: u64 = 1 << 20;

/// What the server does with one request, after it has read it.
#[derive(Clone, Debug)]
enum Play {
    /// Sends bytes and closes.
    Send(Vec<u8>),
    /// Sends bytes, then neither sends nor closes.
    Stall(Vec<u8>),
    /// Sends bytes, then resets the connection.
    Reset(Vec<u8>),
    /// Sends the head, then a byte now and then, for ever.
    Drip(Vec<u8>),
    /// Sends bytes without end.
    Flood(Vec<u8>),
}

struct Server {
    base: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn new(play: impl Fn(&str) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let play = Arc::new(play);
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, play) = (Arc::clone(&seen), Arc::clone(&play));
                held.push(tokio::spawn(async move { serve(stream, &seen, &*play).await }));
            }
        });
        Self { base, requests, task }
    }

    fn link(&self) -> RequestLink {
        let host = self.base.trim_start_matches("http://").to_owned();
        parse_link(&format!("{}/acme/api/pull/7", self.base), &[(host, format!("github={}", self.base))]).unwrap()
    }

    async fn fetch(&self) -> Result<Vec<u8>, Problem> {
        fetch_patch_within(&self.link(), MIB, &quick()).await
    }
}

fn quick() -> FetchLimits {
    FetchLimits { connect: Duration::from_secs(5), idle: Duration::from_millis(300), total: Duration::from_secs(20) }
}

async fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, play: &(dyn Fn(&str) -> Play + Send + Sync)) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let request = String::from_utf8(request).unwrap();
    seen.lock().unwrap().push(request.clone());
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    match play(&path) {
        Play::Send(bytes) => {
            let _client_may_be_gone = stream.write_all(&bytes).await;
        }
        Play::Stall(bytes) => {
            let _client_may_be_gone = stream.write_all(&bytes).await;
            std::future::pending::<()>().await;
        }
        Play::Reset(bytes) => {
            let _client_may_be_gone = stream.write_all(&bytes).await;
            let _client_may_be_gone = stream.flush().await;
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        }
        Play::Drip(head) => {
            let _client_may_be_gone = stream.write_all(&head).await;
            let mut tick = tokio::time::interval(Duration::from_millis(50));
            while stream.write_all(b"+").await.is_ok() {
                tick.tick().await;
            }
        }
        Play::Flood(bytes) => while stream.write_all(&bytes).await.is_ok() {},
    }
}

fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len()).as_bytes(), body].concat()
}

async fn refused(play: Play, code: ErrorCode, words: &[&str]) -> Problem {
    let server = Server::new(move |_| play.clone()).await;
    let problem = server.fetch().await.unwrap_err();
    assert_eq!(problem.code, code, "{problem:?}");
    for word in words {
        assert!(problem.message.contains(word), "{word}: {problem:?}");
    }
    assert!(problem.message.chars().count() < 500, "{problem:?}");
    problem
}

#[tokio::test]
async fn a_patch_comes_back_byte_for_byte_and_no_credentials_are_sent() {
    let server = Server::new(|_| Play::Send(answer("200 OK", "Content-Type: text/plain\r\nSet-Cookie: a=b\r\n", PATCH))).await;
    assert_eq!(server.link().label, "acme/api #7");
    assert_eq!(server.fetch().await.unwrap(), PATCH.as_bytes());
    let request = server.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(request.starts_with("get /acme/api/pull/7.diff http/1.1\r\n"), "{request}");
    for forbidden in ["cookie", "authorization", "referer"] {
        assert!(!request.contains(forbidden), "{request}");
    }
}

#[tokio::test]
async fn an_error_page_is_shown_escaped_and_short() {
    let page = format!("<html><script>alert(1)</script>\x1b[2J{}</html>", "x".repeat(5000));
    let problem = refused(
        Play::Send(answer("502 Bad Gateway", "Content-Type: text/html\r\n", &page)),
        ErrorCode::BadResponse,
        &["502", "<html>", "\\u{1b}"],
    )
    .await;
    assert!(!problem.message.contains('\x1b'));
    assert!(problem.fix.iter().any(|fix| fix.contains(".diff") && fix.contains("drop")), "{problem:?}");
}

#[tokio::test]
async fn a_table_is_no_patch_whatever_its_status_says() {
    let table = "| error | code |\n|---|---|\n| overloaded | 500 |\n";
    refused(
        Play::Send(answer("500 Internal Server Error", "Content-Type: text/plain\r\n", table)),
        ErrorCode::BadResponse,
        &["500", "| error | code |\\n"],
    )
    .await;
    refused(
        Play::Send(answer("200 OK", "Content-Type: text/plain\r\n", table)),
        ErrorCode::BadResponse,
        &["no patch", "| error | code |\\n"],
    )
    .await;
    refused(
        Play::Send(answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", format!("<pre>\n{PATCH}</pre>"))),
        ErrorCode::BadResponse,
        &["no patch", "text/html"],
    )
    .await;
    refused(
        Play::Send(answer("200 OK", "Content-Type: application/json\r\n", "{\"message\": \"| a |\"}")),
        ErrorCode::BadResponse,
        &["no patch", "{\"message\""],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_found_may_be_private() {
    for status in ["404 Not Found", "403 Forbidden", "401 Unauthorized", "410 Gone"] {
        let problem = refused(Play::Send(answer(status, "", "")), ErrorCode::NotFound, &[&status[..3]]).await;
        assert!(problem.fix[0].contains("private"), "{problem:?}");
    }
    for status in ["400 Bad Request", "405 Method Not Allowed", "451 Unavailable For Legal Reasons"] {
        refused(Play::Send(answer(status, "", "")), ErrorCode::Unreadable, &[&status[..3]]).await;
    }
    for status in ["408 Request Timeout", "500 Internal Server Error", "503 Service Unavailable"] {
        refused(Play::Send(answer(status, "", "")), ErrorCode::BadResponse, &[&status[..3]]).await;
    }
    refused(Play::Send(answer("429 Too Many Requests", "", "")), ErrorCode::BadResponse, &["slow down"]).await;
    refused(
        Play::Send(answer("406 Not Acceptable", "", "Sorry, the diff exceeded the maximum number of lines (20000)")),
        ErrorCode::TooLarge,
        &["maximum number of lines"],
    )
    .await;
    refused(Play::Send(answer("200 OK", "Content-Type: text/plain\r\n", "")), ErrorCode::NothingToReview, &["empty"]).await;
}

#[tokio::test]
async fn a_host_that_hangs_is_given_up() {
    let start = answer("200 OK", "", PATCH);
    for bytes in [Vec::new(), start[..20].to_vec(), start[..start.len() - 3].to_vec()] {
        let problem = refused(Play::Stall(bytes), ErrorCode::Unreachable, &["stopped answering"]).await;
        assert!(problem.fix.iter().any(|fix| fix.contains("by hand")), "{problem:?}");
    }
}

#[tokio::test]
async fn a_host_that_drips_is_given_up_in_the_end() {
    let server = Server::new(|_| Play::Drip(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    let limits = FetchLimits { total: Duration::from_millis(900), ..quick() };
    let problem = fetch_patch_within(&server.link(), MIB, &limits).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::Unreachable);
    assert!(problem.message.contains("not done after 0.9 s"), "{problem:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_no_short_patch() {
    let start = answer("200 OK", "", PATCH);
    for bytes in [Vec::new(), start[..start.len() - 3].to_vec()] {
        refused(Play::Reset(bytes.clone()), ErrorCode::Unreachable, &["broke off"]).await;
        refused(Play::Send(bytes), ErrorCode::Unreachable, &["broke off"]).await;
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_says_how_to_do_it_by_hand() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a/b/pull/1.diff", listener.local_addr().unwrap());
    drop(listener);
    let problem = fetch_patch_within(&RequestLink { patch_url: url.clone(), label: "a/b #1".into() }, MIB, &quick()).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::Unreachable);
    assert!(problem.fix.iter().any(|fix| fix.contains(&url)), "{problem:?}");
}

#[tokio::test]
async fn more_than_the_limit_is_refused_announced_or_not() {
    refused(Play::Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".to_vec()), ErrorCode::TooLarge, &["1 MiB"]).await;
    let server = Server::new(|_| {
        let line = "+x\n".repeat(5000);
        Play::Flood(line.into_bytes())
    })
    .await;
    // A flood without a header is no answer at all.
    assert_eq!(server.fetch().await.unwrap_err().code, ErrorCode::Unreachable);
    let chunk = format!("{:x}\r\n{}\r\n", 60_000, "+".repeat(60_000));
    let endless = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), chunk.repeat(40).into_bytes()].concat();
    refused(Play::Stall(endless), ErrorCode::TooLarge, &["1 MiB"]).await;
}

#[tokio::test]
async fn packed_answers_are_unpacked_within_the_limit() {
    let pack = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let packed = pack(PATCH.as_bytes());
    let server = Server::new(move |_| Play::Send(answer("200 OK", "Content-Encoding: gzip\r\n", &packed))).await;
    assert_eq!(server.fetch().await.unwrap(), PATCH.as_bytes());
    let bomb = pack(&vec![b'+'; 9_000_000]);
    assert!(bomb.len() < 20_000);
    refused(Play::Send(answer("200 OK", "Content-Encoding: gzip\r\n", &bomb)), ErrorCode::TooLarge, &["1 MiB"]).await;
    refused(Play::Send(answer("200 OK", "Content-Encoding: gzip\r\n", PATCH)), ErrorCode::BadResponse, &["gzip"]).await;
    refused(Play::Send(answer("200 OK", "Content-Encoding: br\r\n", PATCH)), ErrorCode::BadResponse, &["`br`"]).await;
}

fn moved(to: &str) -> Play {
    Play::Send(answer("302 Found", &format!("Location: {to}\r\n"), ""))
}

#[tokio::test]
async fn redirects_are_followed_five_times_and_not_in_circles() {
    let server = Server::new(|path| match path {
        "/acme/api/pull/7.diff" => moved("/1"),
        "/5" => Play::Send(answer("200 OK", "", PATCH)),
        other => moved(&format!("/{}", other[1..].parse::<u32>().unwrap() + 1)),
    })
    .await;
    assert_eq!(server.fetch().await.unwrap(), PATCH.as_bytes());
    assert_eq!(server.requests.lock().unwrap().len(), 6);
    let server = Server::new(moved).await;
    let problem = server.fetch().await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::BadResponse);
    assert!(problem.message.contains("more than 5 times"), "{problem:?}");
    assert_eq!(server.requests.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn a_redirect_never_leads_inside() {
    let inner = Server::new(|_| Play::Send(answer("200 OK", "", PATCH))).await;
    let port = inner.base.rsplit(':').next().unwrap().to_owned();
    for to in [format!("https://localhost:{port}/x"), "https://[::1]/x".to_owned(), "https://169.254.169.254/x".to_owned()] {
        let target = to.clone();
        let problem = refused(moved(&target), ErrorCode::BadResponse, &["inside this machine"]).await;
        assert!(!problem.fix.is_empty());
    }
    refused(moved("ftp://example.org/x"), ErrorCode::BadResponse, &["`ftp:`"]).await;
    refused(moved("http://example.org/x"), ErrorCode::BadResponse, &["not encrypted"]).await;
    assert!(inner.requests.lock().unwrap().is_empty());
}

#[test]
fn a_secure_address_is_never_left_for_an_open_one() {
    let from = Url::parse("https://github.com/a/b/pull/1.diff").unwrap();
    let at = |to: &str| stray(&from, 1, &Url::parse(to).unwrap()).map(|stray| stray.to_string());
    assert_eq!(at("https://patch-diff.example.org/raw/a"), None);
    assert!(at("http://github.com/a").unwrap().contains("not encrypted"));
    assert!(at("https://me:pw@github.com/a").unwrap().contains("password"));
    assert!(at("https://10.0.0.1/a").unwrap().contains("inside"));
    assert!(stray(&from, 6, &from).is_some());
}

#[tokio::test]
async fn a_client_for_the_public_hosts_can_be_made() {
    for url in ["https://github.com/a/b/pull/1.diff", "https://gitlab.com/a/b/-/merge_requests/1.diff", "https://git.example.org/x"] {
        client(&Url::parse(url).unwrap(), &FetchLimits::default()).unwrap();
    }
}
