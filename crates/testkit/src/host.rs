//! A host on the loopback that answers as told.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the host answers to one path.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status line after `HTTP/1.1 `, such as `200 OK`.
    pub status: String,
    /// Content type.
    pub content_type: String,
    /// Body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer.
    #[must_use]
    pub fn new(status: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: status.to_owned(), content_type: content_type.to_owned(), body: body.into() }
    }
}

/// The host; it ends with the test's process.
#[derive(Clone, Debug)]
pub struct Host {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    /// Answers these paths, and others with 404.
    #[must_use]
    pub fn start(answers: impl IntoIterator<Item = (String, Answer)>) -> Self {
        let answers: Arc<HashMap<String, Answer>> = Arc::new(answers.into_iter().collect());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&host.asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&asked));
                std::thread::spawn(move || serve(stream, &answers, &asked));
            }
        });
        host
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// The paths that were asked for, in order.
    ///
    /// # Panics
    /// When a test panicked while it asked.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answers: &HashMap<String, Answer>, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() {
        return;
    }
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
        header.clear();
    }
    let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let missing = Answer::new("404 Not Found", "text/plain", "no such page");
    let answer = answers.get(&path).unwrap_or(&missing);
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    // Whoever asked may have seen enough before the body is out.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer.body));
}
