//! Prints the copy of a configuration of nginx that `zc tune` would run, and what is to be known of
//! it: `cargo run -p zc-tune --example nginx_copy -- /etc/nginx/nginx.conf /tmp/copy 8001 [NAME]`.
//! Lines to try follow as arguments that have a space.

use zc_run::{Error, Result};
use zc_tune::nginx::{Config, gather, try_line};
use zc_tune::{Candidate, Change, Facts, Files, Shadow};

struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str) -> Result<String> {
        let text =
            std::fs::read(path).map_err(|error| Error::os(format!("read \"{path}\""), error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

fn print(words: &[String]) -> Result<()> {
    let [main, folder, port, further @ ..] = words else {
        return Err(Error::usage("no-file", "FILE, FOLDER and PORT are needed"));
    };
    let name = further.iter().find(|word| !word.contains(' '));
    let config = Config::parse(&gather(main, &mut Disk)?)?;
    let site = config.site(name.map(String::as_str))?;
    let lines = further.iter().filter(|word| word.contains(' '));
    let tried: Vec<Candidate> = lines
        .map(|line| try_line(line, &config, &site, &Facts::default()))
        .collect::<Result<_>>()?;
    let changes: Vec<&Change> = tried.iter().map(|candidate| &candidate.change).collect();
    let build = std::process::Command::new("nginx").arg("-V").output();
    let build = build.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let shadow = Shadow {
        build: build.unwrap_or_default(),
        folder: folder.clone(),
        port: port.parse().unwrap_or_default(),
        root: Some(format!("{folder}/files")),
        ..Shadow::default()
    };
    let copy = config.copy(&site, &shadow, &changes);
    println!("# {} ({}): {}", site.name, site.position, site.why);
    for said in site.said.iter().chain(&copy.said) {
        println!("# {said}");
    }
    println!("{}", copy.text);
    for line in config.diff(&site, &changes).lines() {
        println!("# {line}");
    }
    Ok(())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = print(&words) {
        eprintln!("error: {}", error.message);
        std::process::exit(error.kind.exit_code().into());
    }
}
