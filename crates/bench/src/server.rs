//! A broker to measure: started from a command line with data of its own, or somebody else's at an address.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a start may take; a broker may have a million jobs to read.
const START_MAX: Duration = Duration::from_secs(600);
/// How long an orderly stop may take.
const STOP_MAX: Duration = Duration::from_secs(30);
/// What `/proc` counts processor time in; the same on all Linux systems of today.
const TICK: Duration = Duration::from_millis(10);

/// Which broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Words of a command line: `{port}`, `{http}` and `{data}` are filled in, words such as `NAME=value` before the
    /// program are its environment.
    Command(Vec<String>),
    /// One that runs already.
    Address(SocketAddr),
}

impl Target {
    /// A command line or `HOST:PORT`.
    #[must_use]
    pub fn parse(text: &str) -> Target {
        match text.parse() {
            Ok(address) => Target::Address(address),
            Err(_) => Target::Command(text.split_whitespace().map(str::to_owned).collect()),
        }
    }

    /// The same with its page, where its command line says that it is to have none.
    #[must_use]
    pub fn with_page(&self) -> Target {
        match self {
            Target::Command(words) => {
                let word = |word: &String| match word.as_str() {
                    "--no-ui" => vec!["--ui-port".to_owned(), "0".to_owned()],
                    _ => vec![word.clone()],
                };
                Target::Command(words.iter().flat_map(word).collect())
            }
            Target::Address(address) => Target::Address(*address),
        }
    }
}

/// A folder that goes when it is dropped.
pub struct Data(PathBuf);

impl Data {
    /// A new one among the system's temporary files.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> Result<Data> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("onceover-bench-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Data(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Size of all files in it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self) -> Result<u64> {
        fs::read_dir(&self.0)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // What is left is found among the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A broker that answers.
pub struct Server {
    child: Option<Child>,
    /// Where it listens.
    pub address: SocketAddr,
    /// From the start of the process to its first answer.
    pub started_in: Duration,
}

impl Server {
    /// Starts it with these data, or connects; returns when it has answered a Ping.
    ///
    /// # Errors
    /// It ends, or does not answer in time.
    pub fn start(target: &Target, data: &Data) -> Result<Server> {
        let began = Instant::now();
        let (mut child, address) = match target {
            Target::Address(address) => (None, *address),
            Target::Command(words) => {
                let port = free_port()?;
                let child = spawn(words, port, data)?;
                (Some(child), SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            }
        };
        while !answers(address) {
            if let Some(ended) = child.as_mut().and_then(|child| child.try_wait().transpose()) {
                bail!("the broker ended with {}; its output is in {}", ended?, log(data).display());
            }
            if began.elapsed() > START_MAX {
                bail!("no answer to Ping at {address}");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Server { child, address, started_in: began.elapsed() })
    }

    /// Processor time since its start, user and system, all threads. None for one that was not started here.
    pub fn cpu(&self) -> Option<Duration> {
        let stat = self.proc("stat")?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u32 = fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?;
        Some(TICK * ticks)
    }

    /// Memory that it holds, in bytes.
    pub fn rss(&self) -> Option<u64> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }

    /// The address of the window's page, from what the broker printed.
    ///
    /// # Errors
    /// It printed none.
    pub fn page(&self, data: &Data) -> Result<String> {
        let printed = fs::read_to_string(log(data))?;
        let url = printed.split_whitespace().find(|word| word.contains("#token="));
        url.map(str::to_owned).context("the broker printed no address of a page")
    }

    /// Stops it in order and waits for its end.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn stop(mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let end = Instant::now() + STOP_MAX;
        while child.try_wait()?.is_none() {
            if Instant::now() > end {
                child.kill()?;
                child.wait()?;
                bail!("the broker did not stop in {} s", STOP_MAX.as_secs());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn proc(&self, file: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.as_ref()?.id())).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn log(data: &Data) -> PathBuf {
    data.0.join("output.txt")
}

fn spawn(words: &[String], port: u16, data: &Data) -> Result<Child> {
    let http = free_port()?;
    let fill = |word: &String| {
        let data = data.0.display().to_string();
        word.replace("{port}", &port.to_string()).replace("{http}", &http.to_string()).replace("{data}", &data)
    };
    let is_setting = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let settings = words.iter().take_while(is_setting).count();
    let Some((program, args)) = words[settings..].split_first() else { bail!("a command line without a program") };
    let output = fs::OpenOptions::new().create(true).append(true).open(log(data))?;
    let mut command = Command::new(program);
    command.args(args.iter().map(fill)).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    for word in words[..settings].iter().map(fill) {
        let (name, value) = word.split_once('=').expect("settings have an equals sign");
        command.env(name, value);
    }
    command.spawn().with_context(|| format!("cannot start {program}"))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Whether something there answers a Ping.
fn answers(address: SocketAddr) -> bool {
    let mut frame = bytes::BytesMut::new();
    crate::frame::request(&mut frame, 0, "Ping", |_| {});
    let ask = || {
        let mut socket = TcpStream::connect(address)?;
        socket.write_all(&frame)?;
        socket.set_read_timeout(Some(START_MAX))?;
        let mut header = [0; 4];
        socket.read_exact(&mut header)?;
        let mut payload = vec![0; u32::from_be_bytes(header) as usize];
        socket.read_exact(&mut payload)?;
        std::io::Result::Ok(payload)
    };
    ask().is_ok_and(|payload| crate::frame::Answer::parse(&payload).is_ok())
}
