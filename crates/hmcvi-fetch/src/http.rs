//! Download a file over HTTPS, go on where an earlier attempt stopped, and keep it only if its hash is right.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::path::Path;

use ureq::http::header::{CONTENT_RANGE, RANGE};
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body, Proxy};

use hmcvi::data::{DataError, KnownFile};

use super::error::FetchError;
use super::{FetchEvent, FetchOptions, Progress};

/// How often a download that broke off is resumed, as long as each attempt brings something.
const MOST_ATTEMPTS: usize = 8;

/// Checks that an address is `https`, or leads to this machine.
pub(super) fn check_url(url: &str) -> Result<(), FetchError> {
    let refuse = |found: &str| FetchError::Url { url: url.to_owned(), found: found.to_owned() };
    let uri: Uri = url.parse().map_err(|error| refuse(&format!("is no address ({error})")))?;
    match uri.scheme_str() {
        Some("https") if uri.host().is_some() => Ok(()),
        Some("http") if is_loopback(&uri) => Ok(()),
        Some(scheme) => Err(refuse(&format!("has the scheme {scheme} and the host {:?}", uri.host()))),
        None => Err(refuse("has no scheme")),
    }
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Asks web servers.
pub(super) struct Client {
    agent: Agent,
}

/// Why an attempt ended before the file was there.
enum Stop {
    /// The connection broke; another attempt can go on where it stopped.
    Cut(FetchError),
    /// There is no use in asking again.
    Final(FetchError),
}

impl Client {
    pub(super) fn new(options: &FetchOptions) -> Result<Client, FetchError> {
        let proxy = options.proxy.as_deref().map(Proxy::new).transpose().map_err(|error| {
            let url = options.proxy.clone().unwrap_or_default();
            FetchError::Download { url, reason: format!("cannot be used as a proxy: {error}") }
        })?;
        let timeout = Some(options.timeout);
        let config = Agent::config_builder()
            .proxy(proxy)
            .user_agent(concat!("hmcvi/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(timeout)
            .timeout_connect(timeout)
            .timeout_recv_response(timeout)
            .timeout_per_read(timeout)
            .http_status_as_error(false)
            .build();
        Ok(Client { agent: config.into() })
    }

    /// Downloads one file into `cache` and gives it its name when its hash is right.
    pub(super) fn fetch(
        &self,
        mirror: &str,
        file: &KnownFile,
        cache: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<(), FetchError> {
        let url = format!("{}/{}.gz", mirror.trim_end_matches('/'), file.name);
        let target = cache.join(format!("{}.gz", file.name));
        let part = cache.join(format!("{}.gz.part", file.name));
        for _ in 0..MOST_ATTEMPTS {
            let before = length(&part);
            match self.attempt(&url, file, &part, progress) {
                Ok(()) => match keep(file, &part, &target) {
                    Ok(()) => {
                        progress(FetchEvent::Present { file: file.name });
                        return Ok(());
                    }
                    // A file whose beginning came from elsewhere may be right when it comes from here as a whole.
                    Err(error) if before == 0 => return Err(refused(&url, in_short(error))),
                    Err(_) => {}
                },
                Err(Stop::Cut(error)) if length(&part) == before => return Err(error),
                Err(Stop::Cut(_)) => {}
                Err(Stop::Final(error)) => return Err(error),
            }
        }
        Err(refused(&url, format!("broke off {MOST_ATTEMPTS} times")))
    }

    /// Adds to `part` what the server has beyond it.
    fn attempt(
        &self,
        url: &str,
        file: &KnownFile,
        part: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<(), Stop> {
        let have = length(part);
        let mut response = self.ask(url, have).map_err(|error| Stop::Cut(refused(url, error)))?;
        let start = match response.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if range_start(&response) == Some(have) => have,
            status => {
                let error =
                    refused(url, format!("the server answered {status} to a request from byte {have}"));
                let misfit =
                    matches!(status, StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE);
                if !misfit || have == 0 {
                    return Err(Stop::Final(error));
                }
                // What is there does not fit the file on this server; begin anew.
                remove(part).map_err(Stop::Final)?;
                return Err(Stop::Cut(error));
            }
        };
        let total = response.body().content_length().map(|length| start.saturating_add(length));
        // A compressed file is never larger than its content, but for the header.
        let limit = file.length + 4096;
        if let Some(total) = total.filter(|&total| total > limit) {
            return Err(Stop::Final(refused(url, format!("has {total} bytes, expected at most {limit}"))));
        }
        progress(FetchEvent::Started { file: file.name, url, resumed_at: start, total });
        let mut reader = response.body_mut().as_reader();
        receive(&mut reader, part, start, limit, &mut |received| {
            progress(FetchEvent::Progress { file: file.name, received, total });
        })
        .map_err(|error| Stop::Cut(refused(url, error)))?;
        if length(part) > limit {
            remove(part).map_err(Stop::Final)?;
            return Err(Stop::Final(refused(url, format!("has more than {limit} bytes"))));
        }
        Ok(())
    }

    fn ask(&self, url: &str, have: u64) -> Result<Response<Body>, ureq::Error> {
        // A redirect must not lead from https to http, nor from this machine to another.
        let loopback = url.parse::<Uri>().is_ok_and(|uri| is_loopback(&uri));
        let request = self.agent.get(url).config();
        let request = request.https_only(!loopback).max_redirects(if loopback { 0 } else { 3 }).build();
        if have > 0 { request.header(RANGE, format!("bytes={have}-")).call() } else { request.call() }
    }
}

/// The first byte of a partial answer.
fn range_start(response: &Response<Body>) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

/// Writes what a reader gives from byte `start` of `part` on, until `limit` is passed.
fn receive(
    reader: &mut dyn Read,
    part: &Path,
    start: u64,
    limit: u64,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let mut out = OpenOptions::new().create(true).append(true).open(part)?;
    out.set_len(start)?;
    let mut received = start;
    let mut block = vec![0; 64 << 10];
    while received <= limit {
        let count = match reader.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        out.write_all(&block[..count])?;
        received += count as u64;
        progress(received);
    }
    out.sync_all()
}

/// Gives a downloaded file its name if its hash is right, and removes it if not.
pub(super) fn keep(file: &KnownFile, part: &Path, target: &Path) -> Result<(), FetchError> {
    if let Err(error) = file.verify(part) {
        remove(part)?;
        return Err(error.into());
    }
    fs::rename(part, target).map_err(|source| FetchError::io(target, "write", source))
}

fn remove(part: &Path) -> Result<(), FetchError> {
    match fs::remove_file(part) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FetchError::io(part, "remove", source))
        }
        _ => Ok(()),
    }
}

fn length(part: &Path) -> u64 {
    fs::metadata(part).map_or(0, |metadata| metadata.len())
}

/// Why content was not kept; the advice for files at rest does not fit a download.
fn in_short(error: FetchError) -> String {
    match error {
        FetchError::Data(DataError::Hash { found, expected, .. }) => {
            format!("SHA-256 of the content is {found}, expected {expected}")
        }
        error => error.to_string(),
    }
}

fn refused(url: &str, reason: impl ToString) -> FetchError {
    FetchError::Download { url: url.to_owned(), reason: reason.to_string() }
}
