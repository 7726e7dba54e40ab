//! The one door for a run: a server as the plan asks for it, whatever that takes.

use crate::{
    plan::{DataPlan, ServerPlan, ServerSource},
    provision::{
        Apart, Error, Instance, Paid, Part, Places, Running, ServerDescription, Snapshot, Software, Standing,
        StandingWish, Usage, Wish, Work,
        attach::restore,
        data::cache,
        instance::{orphans, state},
        launch::certificate,
        login::{describe, target},
        settings::{self, translate},
        software::{
            catalogue::{self, Entry},
            fetch, installed,
        },
    },
};
use load::{
    Stop,
    client::{self, Connection},
    spec::Target,
};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Brings servers up.
#[derive(Debug, Clone)]
pub struct Provisioner {
    places: Places,
    launcher: PathBuf,
    stop: Arc<Stop>,
    apart: Vec<Apart>,
    /// Whether servers are reached by TLS; `None`: nobody knows.
    is_encrypted: Option<bool>,
}

/// A server before it is brought up.
enum Seen {
    /// Its program is on this machine.
    Here(Box<Software>),
    /// Product and version of what would be fetched.
    Elsewhere(String, String),
}

impl Provisioner {
    /// With the user's own places, for the `prony` program itself.
    ///
    /// # Errors
    /// [`Error::NoHome`].
    pub fn new() -> Result<Self, Error> {
        // This name holds even after the program's file was replaced or removed.
        Ok(Self::with(Places::of_user()?, PathBuf::from("/proc/self/exe")))
    }

    /// With other places; `launcher` is the path of the `prony` program, for callers that are not `prony`
    /// themselves (tests).
    #[must_use]
    pub fn with(places: Places, launcher: PathBuf) -> Self {
        Self { places, launcher, stop: Arc::default(), apart: Vec::new(), is_encrypted: None }
    }

    /// The same, but servers that it starts are set apart: the one with number n among those that work
    /// together in the nth of these.
    #[must_use]
    pub fn within(self, apart: Vec<Apart>) -> Self {
        Self { apart, ..self }
    }

    /// The same, but work that takes long ends soon with [`Error::Interrupted`] once `stop` is pulled.
    #[must_use]
    pub fn heeding(self, stop: Arc<Stop>) -> Self {
        Self { stop, ..self }
    }

    /// The same, for servers that are reached by TLS, or by nobody. Those that have it only with a
    /// certificate get one where it is wanted; those that make one at each start, which takes MariaDB's
    /// own builds ten seconds, are told not to where it is not.
    #[must_use]
    pub fn encrypted(self, is_encrypted: bool) -> Self {
        Self { is_encrypted: Some(is_encrypted), ..self }
    }

    /// Where things are kept.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The `prony` program.
    #[must_use]
    pub fn launcher(&self) -> &std::path::Path {
        &self.launcher
    }

    /// Removes what killed runs left; see [`crate::provision::sweep`]. Call it before the first server is up.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn sweep(&self) -> Result<Vec<PathBuf>, Error> {
        cache::sweep(&self.places)?;
        orphans::sweep(&self.places.instances())
    }

    /// Puts back the settings of servers elsewhere that killed runs had changed. Call it before the first
    /// server is brought up.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Record`].
    pub fn pay_debts(&self) -> Result<Vec<Paid>, Error> {
        restore::pay_all(&self.places)
    }

    /// Brings up the server of `plan`, with room for `data_bytes` of data; `progress` is told each step in
    /// words (`fetching mariadb-10.11 (12 MB)`), once a second at most while one lasts. Blocks, up to
    /// minutes where it must be fetched.
    ///
    /// # Errors
    /// Each says what to do next; nothing is left behind but the cache.
    pub fn bring_up(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Server, Error> {
        if let ServerSource::Url(url) = &plan.source {
            let target = target::resolve(Some(url), None)?;
            if !plan.settings.is_empty() && !plan.apply_settings {
                return Err(Error::SettingsElsewhere { server: target::shown(&target) });
            }
            let mut running = Running::attach(target)?;
            if !plan.settings.is_empty() {
                progress("writing down its settings, and setting those of the study");
                running.apply(&plan.settings, &self.places)?;
            } else {
                running.stay()?;
            }
            return Ok(Server::Running(Box::new(running)));
        }
        self.bring_up_node(plan, &Part::default(), data_bytes, progress)
    }

    /// The same, but on a copy of the data directory that an earlier run has kept with this data set loaded,
    /// where there is one. Then it comes with the server, to be put back from.
    ///
    /// # Errors
    /// As [`Provisioner::bring_up`].
    pub fn bring_up_on(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        data: &DataPlan,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Server, Option<Snapshot>), Error> {
        if matches!(plan.source, ServerSource::Url(_)) {
            return Ok((self.bring_up(plan, data_bytes, progress)?, None));
        }
        let software = self.software_of(&plan.source, progress)?;
        let mut work = Work::new(progress, &self.stop);
        let part = Part::default();
        let settings = self.settings(plan, &part, &software)?;
        let limits = &plan.limits;
        let wish = Wish { software: &software, settings: &settings, limits, data_bytes, part: &part };
        let Some(mut kept) = state::kept_for(&wish, data, &self.places, &mut work)? else {
            return Ok((self.bring_up(plan, data_bytes, progress)?, None));
        };
        let instance = Instance::start_on(&wish, &mut kept, &self.places, &self.launcher, &mut work)?;
        Ok((Server::Own(Box::new(instance)), Some(kept.snapshot)))
    }

    /// The same for one of several servers that work together; `part` is what that needs.
    pub(in crate::provision) fn bring_up_node(
        &self,
        plan: &ServerPlan,
        part: &Part,
        data_bytes: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Server, Error> {
        let software = self.software_of(&plan.source, progress)?;
        let apart = self.apart.get(part.number).cloned();
        let part = &Part { apart, ..part.clone() };
        let settings = self.settings(plan, part, &software)?;
        let mut work = Work::new(progress, &self.stop);
        let wish = Wish { software: &software, settings: &settings, limits: &plan.limits, data_bytes, part };
        Ok(Server::Own(Box::new(Instance::start(&wish, &self.places, &self.launcher, &mut work)?)))
    }

    /// All that a server is to be set to.
    fn settings(
        &self,
        plan: &ServerPlan,
        part: &Part,
        software: &Software,
    ) -> Result<BTreeMap<String, String>, Error> {
        let mut settings = plan.settings.clone();
        settings.extend(part.settings.iter().map(|(name, value)| (name.clone(), value.clone())));
        let is_of_tls = |name: &String| {
            let name = settings::plain_name(name);
            name.starts_with("ssl") || name == "skip_ssl" || name.contains("secure_transport")
        };
        if settings.keys().any(is_of_tls) {
            return Ok(settings);
        }
        match self.is_encrypted {
            Some(false) if certificate::is_made(software) => {
                settings.insert("skip_ssl".to_owned(), String::new());
            }
            Some(true) if certificate::is_wanted(software) => {
                let file = certificate::file(&self.places)?.display().to_string();
                settings.extend(["ssl_cert", "ssl_key"].map(|name| (name.to_owned(), file.clone())));
            }
            _ => {}
        }
        Ok(settings)
    }

    /// The program that a server of this source, which does not run elsewhere, is started from.
    pub(in crate::provision) fn software_of(
        &self,
        source: &ServerSource,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Software, Error> {
        match source {
            ServerSource::Product { product, version } => {
                self.software(product, version.as_deref(), progress)
            }
            ServerSource::Path(directory) => {
                Software::in_directory(directory, &format!("directory {}", directory.display()))
            }
            ServerSource::Image(image) => {
                let entry = Entry::of_image(image);
                fetch::fetch(&entry, &self.places, &self.launcher, &mut Work::new(progress, &self.stop))
            }
            ServerSource::Url(_) => unreachable!("a server that runs already is not started"),
        }
    }

    /// What ends work that takes long.
    pub(in crate::provision) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Product and version of the server that [`Provisioner::bring_up`] would have, as far as that is known
    /// without fetching or asking it; `None`: it runs elsewhere, or is in an image that was not yet
    /// looked at.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], [`Error::Catalogue`], and those of [`Software::in_directory`].
    pub fn foresee(&self, plan: &ServerPlan) -> Result<Option<(String, String)>, Error> {
        Ok(match self.look(plan)? {
            None => None,
            Some(Seen::Here(software)) => Some((software.product, software.version)),
            Some(Seen::Elsewhere(product, version)) => Some((product, version)),
        })
    }

    /// Of a server's settings those that it does not know, each with the one that is meant: slips of the pen,
    /// which would end its start. Nothing of what is not here, nor of one that loads plugins, whose
    /// settings it tells only when it runs.
    ///
    /// # Errors
    /// Those of [`Provisioner::foresee`].
    pub fn mistyped(&self, plan: &ServerPlan) -> Result<Vec<(String, String)>, Error> {
        let Some(Seen::Here(software)) = self.look(plan)? else { return Ok(Vec::new()) };
        if software.image.is_some() || plan.settings.keys().any(|name| translate::is_plugin(name)) {
            return Ok(Vec::new());
        }
        let known = software.settings();
        let slip = |name: &String| settings::mistyped(&known, name).map(|meant| (name.clone(), meant));
        Ok(plan.settings.keys().filter(|name| !translate::is_word(name)).filter_map(slip).collect())
    }

    fn look(&self, plan: &ServerPlan) -> Result<Option<Seen>, Error> {
        let here = |software: Software| Seen::Here(Box::new(software));
        let (product, version) = match &plan.source {
            ServerSource::Product { product, version } => (product, version.as_deref()),
            ServerSource::Path(directory) => {
                return Ok(Some(here(Software::in_directory(directory, "")?)));
            }
            ServerSource::Image(image) => {
                return Ok(fetch::cached(&Entry::of_image(image), &self.places).map(here));
            }
            ServerSource::Url(_) => return Ok(None),
        };
        let all = catalogue::all(&self.places)?;
        let (own, ours) = all.split_at(all.len() - catalogue::entries().len());
        let of_entry = |entry: &Entry| {
            let elsewhere = || Seen::Elsewhere(entry.product.clone(), entry.version.clone());
            fetch::cached(entry, &self.places).map_or_else(elsewhere, here)
        };
        if let Some(entry) = catalogue::fitting(own, product, version).first() {
            return Ok(Some(of_entry(entry)));
        }
        if let Some(software) = installed::installed().into_iter().find(|each| each.fits(product, version)) {
            return Ok(Some(here(software)));
        }
        let fitting = catalogue::fitting(ours, product, version);
        let is_here = |entry: &&&Entry| version.is_none() && fetch::place(entry, &self.places).is_dir();
        match fitting.iter().find(is_here).or(fitting.first()) {
            Some(entry) => Ok(Some(of_entry(entry))),
            None => Err(unknown(&[product, version.unwrap_or_default()].join(" "), &all)),
        }
    }

    /// A program of `product` whose version begins with `version`: of the user's own entries, else installed
    /// on the machine, else of the catalogue. There a version means the newest that begins so; without
    /// one, what is in the cache goes first.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], and those of [`fetch::fetch`] of the first choice if no other can be had
    /// either.
    pub fn software(
        &self,
        product: &str,
        version: Option<&str>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Software, Error> {
        let mut work = Work::new(progress, &self.stop);
        let fits = |software: &Software| software.fits(product, version);
        let all = catalogue::all(&self.places)?;
        let (own, ours) = all.split_at(all.len() - catalogue::entries().len());
        if let Some(entry) = catalogue::fitting(own, product, version).first() {
            return fetch::fetch(entry, &self.places, &self.launcher, &mut work);
        }
        if let Some(software) = installed::installed().into_iter().find(fits) {
            return Ok(software);
        }
        let fitting = catalogue::fitting(ours, product, version);
        if version.is_none()
            && let Some(software) = fitting.iter().find_map(|entry| fetch::cached(entry, &self.places))
        {
            return Ok(software);
        }
        let mut failure = None;
        for entry in fitting {
            match fetch::fetch(entry, &self.places, &self.launcher, &mut work) {
                Ok(software) if fits(&software) => return Ok(software),
                // The registry has moved on from the very version that is asked for.
                Ok(_) => {}
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| unknown(&[product, version.unwrap_or_default()].join(" "), &all)))
    }

    /// Stops `server` in order and starts it again on the same data, port and socket; `progress` as in
    /// [`Provisioner::bring_up`]. False: it is not Prony's own, and was not touched.
    ///
    /// # Errors
    /// Those of [`Instance::restart`].
    pub fn restart(&self, server: &mut Server, progress: &mut dyn FnMut(&str)) -> Result<bool, Error> {
        let Server::Own(instance) = server else { return Ok(false) };
        instance.restart(&mut Work::new(progress, &self.stop))?;
        Ok(true)
    }

    /// Takes a snapshot of a server of Prony's own: in the cache for later runs with the data set `keep`,
    /// else, where one is `needed`, for this run alone. The server is restarted. `None`: none was taken.
    ///
    /// # Errors
    /// Those of [`Instance::snapshot`].
    pub fn snapshot(
        &self,
        server: &mut Server,
        keep: Option<&DataPlan>,
        needed: bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<Snapshot>, Error> {
        let Server::Own(instance) = server else { return Ok(None) };
        instance.snapshot(keep.map(|data| (&self.places, data)), needed, &mut Work::new(progress, &self.stop))
    }

    /// Makes the data of a server of Prony's own what they were when `snapshot` was taken, and restarts it.
    ///
    /// # Errors
    /// Those of [`Instance::put_back`].
    pub fn put_back(
        &self,
        server: &mut Server,
        snapshot: &mut Snapshot,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let Server::Own(instance) = server else { return Ok(()) };
        instance.put_back(snapshot, &mut Work::new(progress, &self.stop)).map(drop)
    }

    /// Starts a server that stays when this process ends; `progress` as in [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Those of [`Standing::start`].
    pub fn start_standing(
        &self,
        wish: &StandingWish<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Standing, Error> {
        Standing::start(wish, &self.places, &self.launcher, &mut Work::new(progress, &self.stop))
    }

    /// Stops one of those.
    ///
    /// # Errors
    /// Those of [`Standing::stop`].
    pub fn stop_standing(&self, name: &str, progress: &mut dyn FnMut(&str)) -> Result<Standing, Error> {
        Standing::stop(name, &self.places, &mut Work::new(progress, &self.stop))
    }

    /// Every server that can be had; the user's own entries first.
    ///
    /// # Errors
    /// [`Error::Catalogue`] if the user's file of entries is wrong.
    pub fn catalogue(&self) -> Result<Vec<Entry>, Error> {
        catalogue::all(&self.places)
    }

    /// The entry of the catalogue that `name` means: its own name, or product and version as `mysql-5.7`.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], [`Error::Catalogue`].
    pub fn named(&self, name: &str) -> Result<Entry, Error> {
        let all = self.catalogue()?;
        catalogue::named(&all, name).cloned().ok_or_else(|| unknown(name, &all))
    }

    /// Fetches `entry` unless it is here; `progress` as in [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Those of [`fetch::fetch`].
    pub fn fetch(&self, entry: &Entry, progress: &mut dyn FnMut(&str)) -> Result<Software, Error> {
        fetch::fetch(entry, &self.places, &self.launcher, &mut Work::new(progress, &self.stop))
    }
}

fn unknown(wanted: &str, all: &[Entry]) -> Error {
    let names: Vec<_> = all.iter().map(|entry| entry.name.as_str()).collect();
    Error::UnknownServer { wanted: wanted.trim().to_owned(), known: names.join(", ") }
}

/// A server that answers.
#[derive(Debug)]
pub enum Server {
    /// Started by Prony; stopped and removed when dropped.
    Own(Box<Instance>),
    /// Was there before and stays.
    Running(Box<Running>),
}

impl Server {
    /// How to log in.
    #[must_use]
    pub fn target(&self) -> &Target {
        match self {
            Self::Own(instance) => instance.target(),
            Self::Running(running) => running.target(),
        }
    }

    /// How to log in over the Unix socket, where Prony has started it; else as [`Server::target`].
    #[must_use]
    pub fn target_by_socket(&self) -> Target {
        match self {
            Self::Own(instance) => instance.target_by_socket(),
            Self::Running(running) => running.target().clone(),
        }
    }

    /// The program, where Prony has started it.
    #[must_use]
    pub fn software(&self) -> Option<&Software> {
        match self {
            Self::Own(instance) => Some(instance.software()),
            Self::Running(_) => None,
        }
    }

    /// Its process number where it runs on this machine and that is known.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Own(instance) => Some(instance.pid()),
            Self::Running(running) => running.pid(),
        }
    }

    /// What is to be said about it before trials begin.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        match self {
            Self::Own(_) => &[],
            Self::Running(running) => running.remarks(),
        }
    }

    /// Sees to it that other runs know that a server which runs elsewhere is still in use.
    ///
    /// # Errors
    /// [`Error::InUse`] where another run has taken its place, [`Error::Login`].
    pub fn keep_place(&mut self) -> Result<(), Error> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Running(running) => running.keep_place(),
        }
    }

    /// What it used of its limits so far; `None`: it has none.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Own(instance) => instance.usage(),
            Self::Running(_) => None,
        }
    }

    /// Whether it still runs, as far as that can be known.
    ///
    /// # Errors
    /// [`Error::Died`] with its last words, [`Error::OutOfMemory`].
    pub fn check(&mut self) -> Result<(), Error> {
        match self {
            Self::Own(instance) => instance.check(),
            Self::Running(_) => Ok(()),
        }
    }

    /// What it is, as it says over `connection` and as Prony knows it; `name` is its name in the plan.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub fn describe(
        &self,
        name: &str,
        connection: &mut Connection,
    ) -> Result<ServerDescription, client::Error> {
        let said = describe::describe(connection, name)?;
        Ok(match self {
            Self::Own(instance) => {
                let software = instance.software();
                let program = Some(software.program.display().to_string());
                let confinement = instance.confinement().cloned();
                let origin = software.origin.clone();
                ServerDescription { origin, program, pid: self.pid(), confinement, ..said }
            }
            Self::Running(running) => {
                let origin = format!("running at {}", target::shown(running.target()));
                ServerDescription { origin, ..said }
            }
        })
    }

    /// Whether one of Prony's own, restarted, starts with the pages in its buffer pool that it noted last
    /// (`innodb_buffer_pool_dump_now`); otherwise with none.
    pub fn keep_pages(&mut self, keep: bool) {
        if let Self::Own(instance) = self {
            instance.keep_pages(keep);
        }
    }

    /// Stops it if it is Prony's own and removes what was made for it. Dropping does the same but cannot tell
    /// an error.
    ///
    /// # Errors
    /// [`Error::File`] if something cannot be removed.
    pub fn stop(self) -> Result<(), Error> {
        match self {
            Self::Own(instance) => instance.stop(),
            Self::Running(mut running) => running.restore(),
        }
    }
}
