//! Check fetching against a web server on this machine: resuming, refusing, and what is said when all fails.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use hmcvi::data::{DataError, KnownFile, read_idx};
use hmcvi_fetch::{FetchError, FetchEvent, FetchOptions, FetchSet, fetch_set};
use sha2::{Digest, Sha256};

/// What was asked: the path, and the first byte wanted if not all.
type Request = (String, Option<usize>);

/// What to answer: a status line, further headers, the declared length if any, and the body, which may be shorter.
struct Answer {
    status: &'static str,
    headers: String,
    length: Option<usize>,
    body: Vec<u8>,
}

impl Answer {
    fn whole(body: &[u8]) -> Answer {
        Answer { status: "200 OK", headers: String::new(), length: Some(body.len()), body: body.to_vec() }
    }

    fn status(status: &'static str) -> Answer {
        Answer { status, ..Answer::whole(b"") }
    }

    /// What a good server answers to a request.
    fn good(body: &[u8], request: &Request) -> Answer {
        match request.1 {
            None => Answer::whole(body),
            Some(start) if start < body.len() => {
                let headers = format!("Content-Range: bytes {start}-{}/{}\r\n", body.len() - 1, body.len());
                Answer { status: "206 Partial Content", headers, ..Answer::whole(&body[start..]) }
            }
            Some(_) => Answer::status("416 Range Not Satisfiable"),
        }
    }

    /// The same, but the connection breaks after `count` bytes of the body.
    fn cut(mut self, count: usize) -> Answer {
        self.body.truncate(count);
        self
    }
}

struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server; `answer` gets each request and its number.
    fn start(answer: impl Fn(usize, &Request) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mnist/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read_request(&stream);
                let number = log.lock().unwrap().len();
                log.lock().unwrap().push(request.clone());
                // The client may hang up before it has everything; that is its right.
                let _ = send(&mut stream, &answer(number, &request));
            }
        });
        Server { url, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> Request {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let mut start = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            start = Some(range.trim_end_matches('-').parse().unwrap());
        }
    }
    (path, start)
}

fn send(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let length = answer.length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    let head = format!("HTTP/1.1 {}\r\n{}{length}Connection: close\r\n\r\n", answer.status, answer.headers);
    stream.write_all(head.as_bytes())?;
    stream.write_all(&answer.body)
}

/// The content of a small IDX file, different for each seed, that hardly compresses.
fn content(seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut bytes = vec![0, 0, 8, 1, 0, 0, 0x27, 0x10];
    bytes.extend((0..10_000).map(|_| next()));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn known(name: &'static str, bytes: &[u8]) -> KnownFile {
    let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    KnownFile { name, shape: &[10_000], length: bytes.len() as u64, sha256: sha256.leak() }
}

/// The file that most tests fetch, and how servers store it.
fn one_file() -> ([KnownFile; 1], Vec<u8>) {
    let bytes = content(1);
    ([known("a-idx1-ubyte", &bytes)], gzip(&bytes))
}

fn options(mirrors: &[&str]) -> FetchOptions {
    FetchOptions {
        mirrors: Some(mirrors.iter().map(|&mirror| mirror.to_owned()).collect()),
        npm: None,
        timeout: Duration::from_secs(60),
        ..FetchOptions::default()
    }
}

/// A data set of files that only the mirrors of the options have.
fn set(files: &[KnownFile]) -> FetchSet<'_> {
    FetchSet { files, mirrors: &[], package: None }
}

/// Fetches and returns the result and what was reported on the way.
fn fetch(files: &[KnownFile], cache: &Path, mirrors: &[&str]) -> (Result<(), FetchError>, Vec<String>) {
    let mut events = Vec::new();
    let result =
        fetch_set(&set(files), cache, &options(mirrors), &mut |event| events.push(format!("{event:?}")));
    (result.map(drop), events)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_are_fetched_once() {
    let contents = [content(1), content(2)];
    let files = [known("a-idx1-ubyte", &contents[0]), known("b-idx1-ubyte", &contents[1])];
    let packed = contents.clone().map(|bytes| gzip(&bytes));
    let server = Server::start(move |_, request| {
        Answer::good(&packed[usize::from(request.0 == "/mnist/b-idx1-ubyte.gz")], request)
    });
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("made/on/the/way");
    let (result, events) = fetch(&files, &cache, &[&server.url]);
    result.unwrap();
    assert!(events[0].starts_with("Started") && events.last().unwrap().starts_with("Present"), "{events:?}");
    assert!(events.iter().any(|event| event.starts_with("Progress")));
    assert_eq!(names(&cache), [".fetch-lock", "a-idx1-ubyte.gz", "b-idx1-ubyte.gz"]);
    assert_eq!(read_idx(&cache.join("b-idx1-ubyte.gz")).unwrap().bytes(), &contents[1][8..]);

    let (result, events) = fetch(&files, &cache, &[&server.url]);
    result.unwrap();
    assert_eq!(events, ["Present { file: \"a-idx1-ubyte\" }", "Present { file: \"b-idx1-ubyte\" }"]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let (files, packed) = one_file();
    let server = Server::start(move |number, request| match number {
        0 => Answer::good(&packed, request).cut(3000),
        1 => Answer::good(&packed, request).cut(2000),
        _ => Answer::good(&packed, request),
    });
    let folder = tempfile::tempdir().unwrap();
    let (result, events) = fetch(&files, folder.path(), &[&server.url]);
    result.unwrap();
    let starts: Vec<_> = server.requests().into_iter().map(|(_, start)| start).collect();
    assert_eq!(starts, [None, Some(3000), Some(5000)]);
    assert!(events.iter().any(|event| event.contains("resumed_at: 5000")), "{events:?}");
}

#[test]
fn a_later_fetch_goes_on_where_an_earlier_one_stopped() {
    let (files, packed) = one_file();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a-idx1-ubyte.gz.part"), &packed[..4000]).unwrap();
    let server = Server::start(move |_, request| Answer::good(&packed, request));
    fetch(&files, folder.path(), &[&server.url]).0.unwrap();
    assert_eq!(server.requests()[0].1, Some(4000));
    assert_eq!(names(folder.path()), [".fetch-lock", "a-idx1-ubyte.gz"]);
}

#[test]
fn a_beginning_that_does_not_fit_is_thrown_away() {
    let (files, packed) = one_file();
    let too_long = vec![7; packed.len() + 10];
    for beginning in [&[7; 500][..], &packed, &too_long] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a-idx1-ubyte.gz.part"), beginning).unwrap();
        let packed = packed.clone();
        let server = Server::start(move |_, request| Answer::good(&packed, request));
        fetch(&files, folder.path(), &[&server.url]).0.unwrap();
        let starts: Vec<_> = server.requests().into_iter().map(|(_, start)| start).collect();
        assert_eq!(starts, [Some(beginning.len()), None]);
    }
}

#[test]
fn a_part_that_was_not_asked_for_is_not_used() {
    let (files, packed) = one_file();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a-idx1-ubyte.gz.part"), &packed[..4000]).unwrap();
    let server = Server::start(move |number, request| match number {
        // From another byte than the one asked for.
        0 => Answer::good(&packed, &(request.0.clone(), Some(4001))),
        _ => Answer::good(&packed, request),
    });
    fetch(&files, folder.path(), &[&server.url]).0.unwrap();
    let starts: Vec<_> = server.requests().into_iter().map(|(_, start)| start).collect();
    assert_eq!(starts, [Some(4000), None]);
}

#[test]
fn a_server_that_knows_no_ranges_sends_the_whole_again() {
    let (files, packed) = one_file();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a-idx1-ubyte.gz.part"), [7; 500]).unwrap();
    let server = Server::start(move |_, _| Answer::whole(&packed));
    fetch(&files, folder.path(), &[&server.url]).0.unwrap();
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn wrong_content_is_refused_and_the_next_mirror_asked() {
    let (files, packed) = one_file();
    let wrong = Server::start(|_, request| Answer::good(&gzip(&content(9)), request));
    let folder = tempfile::tempdir().unwrap();
    let (result, events) = fetch(&files, folder.path(), &[&wrong.url]);
    let error = result.unwrap_err();
    assert!(matches!(error, FetchError::Failed { .. }));
    assert!(error.to_string().contains("SHA-256 of the content is "), "{error}");
    assert!(events.iter().any(|event| event.starts_with("Failed")), "{events:?}");
    assert_eq!(names(folder.path()), [".fetch-lock"], "nothing wrong is kept");

    let right = Server::start(move |_, request| Answer::good(&packed, request));
    fetch(&files, folder.path(), &[&wrong.url, &right.url]).0.unwrap();
    assert_eq!((wrong.requests().len(), right.requests().len()), (2, 1));
}

#[test]
fn a_server_that_is_down_or_has_no_file_is_passed_over() {
    let (files, packed) = one_file();
    let closed = format!("http://{}/", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let absent = Server::start(|_, _| Answer::status("404 Not Found"));
    let good = Server::start(move |_, request| Answer::good(&packed, request));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a-idx1-ubyte.gz.part"), &gzip(&content(1))[..4000]).unwrap();
    fetch(&files, folder.path(), &[&closed, &absent.url, &good.url]).0.unwrap();
    assert_eq!(good.requests()[0].1, Some(4000), "a server's failure costs no bytes");
}

#[test]
fn answers_without_end_are_cut_off() {
    let (files, _) = one_file();
    let declared = Server::start(|_, _| Answer { length: Some(1 << 40), ..Answer::whole(b"x") });
    let endless = Server::start(|_, _| Answer { length: None, ..Answer::whole(&vec![0; 20 << 20]) });
    let folder = tempfile::tempdir().unwrap();
    let mut most = 0;
    let options = options(&[&declared.url, &endless.url]);
    let result = fetch_set(&set(&files), folder.path(), &options, &mut |event| {
        if let FetchEvent::Progress { received, .. } = event {
            most = most.max(received);
        }
    });
    assert!(most < 1 << 20, "{most} of 20 MiB were taken");
    let error = result.unwrap_err().to_string();
    // The limit is the content of 10,008 bytes and 4,096 more.
    assert!(error.contains("has 1099511627776 bytes, expected at most 14104"), "{error}");
    assert!(error.contains("has more than 14104 bytes"), "{error}");
    assert_eq!(names(folder.path()), [".fetch-lock"]);
}

#[test]
fn a_server_that_stops_talking_is_left() {
    let (files, packed) = one_file();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let good = Server::start(move |_, request| Answer::good(&packed, request));
    let folder = tempfile::tempdir().unwrap();
    let options = FetchOptions { timeout: Duration::from_secs(2), ..options(&[&url, &good.url]) };
    fetch_set(&set(&files), folder.path(), &options, &mut |_| {}).unwrap();
}

#[test]
fn a_plain_redirect_is_not_followed() {
    let (files, packed) = one_file();
    let other = Server::start(move |_, request| Answer::good(&packed, request));
    let headers = format!("Location: {}a-idx1-ubyte.gz\r\n", other.url);
    let server =
        Server::start(move |_, _| Answer { headers: headers.clone(), ..Answer::status("302 Found") });
    let folder = tempfile::tempdir().unwrap();
    let error = fetch(&files, folder.path(), &[&server.url]).0.unwrap_err();
    assert!(matches!(error, FetchError::Failed { .. }), "{error}");
    assert_eq!((server.requests().len(), other.requests().len()), (1, 0));
}

#[test]
fn only_secure_addresses_are_asked() {
    let (files, _) = one_file();
    let folder = tempfile::tempdir().unwrap();
    for url in [
        "http://example.com/",
        "http://localhost.example.com/",
        "http://127.0.0.1@example.com/",
        "http://127.0.0.1.example.com/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "example.com/mnist",
        "not an address",
        "",
    ] {
        let error = fetch(&files, folder.path(), &[url]).0.unwrap_err();
        assert!(matches!(error, FetchError::Url { .. }), "{url}: {error}");
    }
}

/// What is said about a data set of four files that is not there and must not be fetched.
fn offline(set: &FetchSet<'_>, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let options = FetchOptions { offline: true, ..FetchOptions::default() };
    let error = fetch_set(set, &cache, &options, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, FetchError::Offline { missing, .. } if missing.len() == 4), "{error}");
    for part in parts.iter().chain(&["train-images-idx3-ubyte.gz", cache.to_str().unwrap()]) {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    assert!(!cache.exists(), "nothing is made when nothing is fetched");
}

#[test]
fn offline_says_what_is_missing_and_how_to_get_it() {
    let labels = "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2";
    offline(&FetchSet::MNIST, &[labels, "https://storage.googleapis.com/cvdf-datasets/mnist/"]);
    let labels = "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34";
    let mirror = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/";
    offline(&FetchSet::FASHION_MNIST, &[labels, mirror]);
}

#[test]
fn offline_uses_what_is_there() {
    let (files, _) = one_file();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.idx1-ubyte"), content(1)).unwrap();
    let offline = FetchOptions { offline: true, ..options(&[]) };
    let mut present = 0;
    fetch_set(&set(&files), folder.path(), &offline, &mut |event| {
        present += usize::from(matches!(event, FetchEvent::Present { .. }));
    })
    .unwrap();
    assert_eq!(present, 1);
}

#[test]
fn files_of_another_data_set_are_never_replaced() {
    let (files, packed) = one_file();
    let server = Server::start(move |_, request| Answer::good(&packed, request));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-idx1-ubyte");
    for other in [content(3), [content(1), content(1)].concat()] {
        fs::write(&path, &other).unwrap();
        let error = fetch(&files, folder.path(), &[&server.url]).0.unwrap_err();
        assert!(matches!(error, FetchError::Data(DataError::Hash { .. })), "{error}");
        assert_eq!(fs::read(&path).unwrap(), other);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn two_processes_do_not_fetch_into_one_folder() {
    let (files, _) = one_file();
    let folder = tempfile::tempdir().unwrap();
    let held = fs::File::create(folder.path().join(".fetch-lock")).unwrap();
    held.lock().unwrap();
    let error = fetch(&files, folder.path(), &[]).0.unwrap_err();
    assert!(matches!(error, FetchError::Busy { .. }), "{error}");
}
