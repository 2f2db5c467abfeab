//! Boots on a machine that a command leads to. The kernel that it had at the beginning is booted
//! again at the end.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::super::kernel_args::{BOOT_WAIT_NS, KernelArgs, Named};
use super::super::tell;
use super::conduct::{Booted, Place, Plan, Wanted, place_of};
use zc_kernel::stop::Stop;
use zc_remote::Duties;
use zc_remote::boots::{self, Asked, How, Machine};
use zc_remote::carry::{Carried, Carry};
use zc_remote::connection::Connection;
use zc_remote::errand::{Bytes, Errand, Ran, run_there};
use zc_remote::via::{Start, Via};
use zc_report::kernels::{HostFacts, KernelFacts, MachineFacts};
use zc_rig::trial::StillWanted;
use zc_run::{Error, ErrorKind, Result, escape, in_words};

/// What a run may take besides its budget.
const BESIDES: Duration = Duration::from_secs(90);

/// Time for zc to be started there.
const PATIENCE: Duration = Duration::from_secs(60);

/// A machine whose kernel is changed.
pub(super) struct Host {
    machine: Machine,
    carry: Carry,
}

impl Host {
    /// Looks at the machine, and starts zc there once: what is wrong is found before it is booted.
    ///
    /// # Errors
    /// It is this machine, does not answer, or cannot boot these kernels or run zc.
    pub(super) fn look(
        command: &str,
        carry: Carry,
        named: &[Named; 2],
        args: &KernelArgs,
        stop: &Stop,
    ) -> Result<Self> {
        let texts = named.each_ref().map(|kernel| kernel.place.to_string_lossy());
        let asked = Asked {
            command,
            how: args.boot.clone().unwrap_or(How::Kexec),
            kernels: texts.each_ref().map(AsRef::as_ref),
            within: Duration::from_nanos(args.boot_wait.unwrap_or(BOOT_WAIT_NS)),
        };
        let still_wanted = || while_not(stop);
        let machine = Machine::look(asked, &still_wanted)?;
        let host = Self { machine, carry };
        let mut say = |carried: &Carried| tell::note(&carried.to_string());
        // The connection goes first, and the command with it.
        let (via, connection) = host.start(&still_wanted, &mut say)?;
        drop(connection);
        drop(via);
        Ok(host)
    }

    /// Starts zc there.
    fn start(
        &self,
        still_wanted: StillWanted<'_>,
        carrying: &mut dyn FnMut(&Carried),
    ) -> Result<(Via, Connection)> {
        Via::start(Start {
            command: self.machine.command(),
            carry: &self.carry,
            duties: Duties::Runs,
            patience: PATIENCE,
            still_wanted,
            carrying,
        })
    }

    /// Makes a run in the kernel that runs there. `Err`: there is none, and why.
    fn run(
        &self,
        plan: &Plan<'_>,
        wanted: &Wanted<'_>,
        still_wanted: StillWanted<'_>,
    ) -> Result<Ran> {
        let read = |name: &str| {
            std::fs::read(plan.out.join(name)).map(|bytes| (name.to_owned(), Bytes(bytes)))
        };
        let earlier = wanted.first.map(read).transpose();
        let errand = Errand {
            words: plan.words_of_run().iter().map(|word| text(word)).collect(),
            file: wanted.file.to_owned(),
            earlier: earlier.map_err(|error| Error::os("read the first run", error))?,
        };
        let limit = Duration::from_nanos(plan.boot_budget_ns) + BESIDES;
        let (via, mut connection) = self.start(still_wanted, &mut |_| ())?;
        run_there(&mut connection, &errand, limit, still_wanted).map_err(|error| {
            let why = via.last_error().filter(|_| error.kind == ErrorKind::Remote);
            let message = why.map_or_else(String::new, |why| format!(": {}", escape(&why, 300)));
            Error { message: error.message.clone() + &message, ..error }
        })
    }

    fn try_boot(
        &mut self,
        plan: &Plan<'_>,
        wanted: &Wanted<'_>,
        still_wanted: StillWanted<'_>,
    ) -> Result<Option<(String, Vec<String>)>> {
        let place = place_of(wanted.arm);
        if let boots::Booted::Dropped(why) = self.machine.boot(place, still_wanted)? {
            return Ok(Some((why, Vec::new())));
        }
        let ran = match self.run(plan, wanted, still_wanted) {
            Ok(ran) => ran,
            Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Ok(Some((error.message, Vec::new()))),
        };
        if ran.run.0.is_empty() {
            let said = ran.said.unwrap_or_default();
            let error = said.strip_prefix("error: ").unwrap_or(&said);
            let error = if error.is_empty() { error.to_owned() } else { format!(": {error}") };
            let why = format!("zc run ended in it with {}{}", ran.code, escape(&error, 500));
            return Ok(Some((why, Vec::new())));
        }
        let file = plan.out.join(wanted.file);
        let written = std::fs::File::create_new(&file).and_then(|mut to| to.write_all(&ran.run.0));
        written.map_err(|error| {
            let message = format!("cannot save \"{}\": {}", tell::path(&file), in_words(&error));
            Error::output("cannot-save-run", message)
        })?;
        Ok(None)
    }

    /// Boots the kernel that it had at the beginning, unless it has it.
    ///
    /// # Errors
    /// It has another one.
    pub(super) fn leave(&mut self, stop: &Stop) -> Result<()> {
        if self.machine.is_as_at_first() {
            return Ok(());
        }
        let name = escape(self.machine.name(), 100);
        let first = escape(self.machine.first_release(), 100);
        tell::note(&format!(
            "\"{name}\" gets Linux {first} again, as at the beginning; Ctrl-C leaves it as it is"
        ));
        // A signal that came before asks for no more than this, and a second one ends zc.
        let was_set = stop.is_set();
        let still_wanted = || if was_set { Ok(()) } else { while_not(stop) };
        match self.machine.leave(&still_wanted) {
            Ok(()) => {
                tell::note(&format!("\"{name}\" has Linux {first} again"));
                Ok(())
            }
            Err(error) => {
                let message = format!(
                    "\"{name}\" is not left with Linux {first}, which it had at the beginning: {}; \
                     it was seen last with Linux {}",
                    error.message,
                    escape(self.machine.release(), 100)
                );
                let help = "boot that kernel by hand: reboot, if it is the boot loader's choice";
                Err(Error { message, ..error }.help(help))
            }
        }
    }
}

impl Place for Host {
    fn boot(
        &mut self,
        plan: &Plan<'_>,
        wanted: &Wanted<'_>,
        stop: &Stop,
    ) -> Result<Option<Booted>> {
        let began = Instant::now();
        match self.try_boot(plan, wanted, &|| while_not(stop)) {
            Ok(failed) => Ok(Some(Booted { took: began.elapsed(), failed })),
            Err(error) if error.kind == ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn facts(&self, names: &[String; 2]) -> ([KernelFacts; 2], MachineFacts) {
        let facts = |place: usize| {
            let kernel = &self.machine.kernels()[place];
            KernelFacts {
                name: names[place].clone(),
                given: kernel.given.clone(),
                release: kernel.release.clone(),
                version: kernel.version.clone().unwrap_or_else(|| kernel.release.clone()),
                modules: kernel.modules,
            }
        };
        let host = HostFacts {
            name: self.machine.name().to_owned(),
            reached_by: self.machine.command().to_owned(),
            boot: match self.machine.how() {
                How::Kexec => "kexec".to_owned(),
                How::Reboot => "reboot".to_owned(),
                How::Command(command) => command.clone(),
            },
            release: self.machine.first_release().to_owned(),
        };
        (std::array::from_fn(facts), MachineFacts::Machine(host))
    }
}

fn text(word: &std::ffi::OsStr) -> String {
    word.to_string_lossy().into_owned()
}

fn while_not(stop: &Stop) -> Result<()> {
    match stop.is_set() {
        true => Err(Error::interrupted("interrupted")),
        false => Ok(()),
    }
}
