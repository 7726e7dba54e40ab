//! The one door for a run: a server as the plan asks for it, whatever that takes.

use crate::{
    family::Copied,
    plan::{Act, DataPlan, ServerPlan, ServerSource},
    provision::{
        Error, Home, Namespace, Places, Remark, Site, Step, Work,
        attach::{
            Running,
            restore::{self, Restored},
        },
        data::{cache, copies, snapshot::Snapshot},
        instance::{
            Instance, Part, Wish, orphans,
            standing::{Standing, StandingWish},
            state,
        },
        launch::certificate,
        login::target,
        server::Server,
        settings::{self, words},
        software::{
            Software,
            catalogue::{self, Entry},
            fetch,
            search::{self, Seen},
        },
    },
};
use load::Stop;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Brings servers up.
#[derive(Debug, Clone)]
pub struct Provisioner {
    home: Home,
    stop: Arc<Stop>,
    namespaces: Vec<Namespace>,
    /// Whether servers are reached by TLS; `None`: nobody knows.
    is_encrypted: Option<bool>,
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
        let home = Home { places, launcher };
        Self { home, stop: Arc::default(), namespaces: Vec::new(), is_encrypted: None }
    }

    /// The same, but servers that it starts are in network namespaces: the one with number n among those that
    /// work together in the nth of these.
    #[must_use]
    pub fn within(self, namespaces: Vec<Namespace>) -> Self {
        Self { namespaces, ..self }
    }

    /// The same, but work that takes long ends soon with [`Error::Interrupted`] once `stop` is pulled.
    #[must_use]
    pub fn heeding(self, stop: Arc<Stop>) -> Self {
        Self { stop, ..self }
    }

    /// The same, for servers that are reached by TLS, or never by TLS. Servers that have it only with a
    /// certificate get one where TLS is wanted. Those that make one at each start, which takes MariaDB's own
    /// builds ten seconds, are told not to where it is not.
    #[must_use]
    pub fn encrypted(self, is_encrypted: bool) -> Self {
        Self { is_encrypted: Some(is_encrypted), ..self }
    }

    /// The same, but servers that it starts keep their files below another directory.
    #[must_use]
    pub fn below(mut self, state: PathBuf) -> Self {
        self.home.places.state = state;
        self
    }

    /// Where things are kept.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.home.places
    }

    /// The `prony` program.
    #[must_use]
    pub fn launcher(&self) -> &std::path::Path {
        &self.home.launcher
    }

    /// Removes what killed runs left; see [`crate::provision::sweep`]. Call it before the first server is up.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn sweep(&self) -> Result<Vec<PathBuf>, Error> {
        cache::sweep(self.places())?;
        orphans::sweep(&self.places().instances(), self.launcher())
    }

    /// Restores the settings of servers elsewhere that killed runs had changed. Call it before the first
    /// server is brought up.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Record`].
    pub fn restore_settings(&self) -> Result<Vec<Restored>, Error> {
        restore::restore_all(self.places())
    }

    /// Brings up the server of `plan`, with room for `data_bytes` of data; `progress` gets each step in words
    /// (`fetching mariadb-10.11 (12 MB)`), at most once per second during a step. Blocks, up to minutes where
    /// it must be fetched.
    ///
    /// # Errors
    /// Each says what to do next; nothing is left behind but the cache.
    pub fn bring_up(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Server, Error> {
        if let ServerSource::Url(url) = &plan.source {
            let target = target::resolve(Some(url), None)?;
            if !plan.settings.is_empty() && !plan.may(Act::ChangeSettings) {
                return Err(Error::SettingsElsewhere { server: target::shown(&target) });
            }
            let mut running = Running::attach(target)?;
            if !plan.settings.is_empty() {
                progress(Step::ApplyingSettings);
                running.apply(&plan.settings, self.places())?;
            } else {
                running.stay()?;
            }
            return Ok(Server::Running(Box::new(running)));
        }
        self.bring_up_node(plan, &Part::default(), data_bytes, progress)
    }

    /// The same, but on a copy of the data directory that an earlier run has cached with this data set
    /// loaded, where there is one. Then it comes with the server, to be restored from.
    ///
    /// # Errors
    /// As [`Provisioner::bring_up`].
    pub fn bring_up_on(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        data: &DataPlan,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Server, Option<Snapshot>), Error> {
        if !plan.may(Act::PutBack) {
            return Ok((self.bring_up(plan, data_bytes, progress)?, None));
        }
        let mut work = self.work(progress);
        let software = search::of_source(&plan.source, &mut work)?;
        let part = Part { site: plan.listen.map(Site::At).unwrap_or_default(), ..Part::default() };
        let settings = self.settings(plan, &part, &software)?;
        let limits = &plan.limits;
        let wish = Wish { software: &software, settings: &settings, limits, data_bytes, part: &part };
        let Some(mut cached) = state::cached_for(&wish, data, &mut work)? else {
            return Ok((self.bring_up(plan, data_bytes, progress)?, None));
        };
        let instance = Instance::start(&wish, Some(&mut cached), &mut work)?;
        Ok((Server::Own(Box::new(instance)), Some(cached.snapshot)))
    }

    /// The same for one of several servers that work together; `part` is what that needs.
    pub(in crate::provision) fn bring_up_node(
        &self,
        plan: &ServerPlan,
        part: &Part,
        data_bytes: u64,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Server, Error> {
        let mut work = self.work(progress);
        let software = search::of_source(&plan.source, &mut work)?;
        let namespace = self.namespaces.get(part.number).cloned().map(Site::Within);
        let site = namespace.or(plan.listen.map(Site::At)).unwrap_or_default();
        let part = &Part { site, ..part.clone() };
        let settings = self.settings(plan, part, &software)?;
        let wish = Wish { software: &software, settings: &settings, limits: &plan.limits, data_bytes, part };
        Ok(Server::Own(Box::new(Instance::start(&wish, None, &mut work)?)))
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
                let file = certificate::file(self.places())?.display().to_string();
                settings.extend(["ssl_cert", "ssl_key"].map(|name| (name.to_owned(), file.clone())));
            }
            _ => {}
        }
        Ok(settings)
    }

    /// What goes along with work whose steps `progress` hears.
    pub(in crate::provision) fn work<'a>(&'a self, progress: &'a mut dyn FnMut(Step)) -> Work<'a> {
        Work::new(&self.home, progress, &self.stop)
    }

    /// What ends work that takes long.
    pub(in crate::provision) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Product and version of the server that [`Provisioner::bring_up`] would take, as far as known without
    /// fetching or asking it; `None`: Prony does not start it, or it is in an image that was not yet
    /// examined.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], [`Error::Catalogue`], and those of [`Software::in_directory`].
    pub fn foresee(&self, plan: &ServerPlan) -> Result<Option<(String, String)>, Error> {
        Ok(search::foresee(&plan.source, self.places())?.map(|seen| match seen {
            Seen::Here(software) => (software.product, software.version),
            Seen::Elsewhere { product, version } => (product, version),
        }))
    }

    /// Those of a server's settings that it does not know, each with the one that was probably meant:
    /// mistyped names, which would end its start. Nothing about a server that is not here, nor about one that
    /// loads plug-ins, whose settings it reports only when it runs.
    ///
    /// # Errors
    /// Those of [`Provisioner::foresee`].
    pub fn mistyped(&self, plan: &ServerPlan) -> Result<Vec<(String, String)>, Error> {
        let Some(Seen::Here(software)) = search::foresee(&plan.source, self.places())? else {
            return Ok(Vec::new());
        };
        if software.image.is_some() || plan.settings.keys().any(|name| words::is_plugin(name)) {
            return Ok(Vec::new());
        }
        let known = software.settings();
        let slip = |name: &String| settings::mistyped(&known, name).map(|meant| (name.clone(), meant));
        Ok(plan.settings.keys().filter(|name| !words::is_word(name)).filter_map(slip).collect())
    }

    /// A program of `product` whose version begins with `version`: one of the user's own entries, else
    /// installed on the machine, else of the catalogue. There, a version means the newest that begins with
    /// it; without a version, what is in the cache comes first.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], and those of [`Provisioner::fetch`] of the first choice if no other is
    /// available either.
    pub fn software(
        &self,
        product: &str,
        version: Option<&str>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Software, Error> {
        search::find(product, version, &mut self.work(progress))
    }

    /// Stops `server` cleanly and starts it again on the same data, port and socket; `progress` as in
    /// [`Provisioner::bring_up`]. False: Prony did not start it, and did not touch it.
    ///
    /// # Errors
    /// Those of `Instance::restart`.
    pub fn restart(&self, server: &mut Server, progress: &mut dyn FnMut(Step)) -> Result<bool, Error> {
        let Server::Own(instance) = server else { return Ok(false) };
        instance.restart(&mut self.work(progress))?;
        Ok(true)
    }

    /// Takes a snapshot of a server of Prony's own: in the data cache for later runs with the data set
    /// `cache`, else, where one is `needed`, for this run alone. The server is restarted. `None`: none was
    /// taken.
    ///
    /// # Errors
    /// Those of `Instance::snapshot`.
    pub fn snapshot(
        &self,
        server: &mut Server,
        cache: Option<&DataPlan>,
        needed: bool,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Option<Snapshot>, Error> {
        let Server::Own(instance) = server else { return Ok(None) };
        instance.snapshot(cache, needed, &mut self.work(progress))
    }

    /// Restores the data of a server of Prony's own to those of `snapshot`, and restarts it.
    ///
    /// # Errors
    /// Those of `Instance::put_back`.
    pub fn put_back(
        &self,
        server: &mut Server,
        snapshot: &mut Snapshot,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), Error> {
        let Server::Own(instance) = server else { return Ok(()) };
        instance.put_back(snapshot, &mut self.work(progress)).map(drop)
    }

    /// Whether the server of `plan` can start on such a copy, before anything is started; `progress` as in
    /// [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// [`Error::Copy`], [`Error::NotPrepared`], [`Error::NotUpgradable`].
    pub fn check_copy(
        &self,
        plan: &ServerPlan,
        copy: &Copied,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), Error> {
        copies::check(copy, &search::of_source(&plan.source, &mut self.work(progress))?)
    }

    /// Replaces the data of a server of Prony's own by a copy of somebody's; it is restarted. Returns what
    /// was done to the copy.
    ///
    /// # Errors
    /// Those of `Instance::load_copy`.
    pub fn load_copy(
        &self,
        server: &mut Server,
        copy: &Copied,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Vec<Remark>, Error> {
        let Server::Own(instance) = server else { return Ok(Vec::new()) };
        instance.load_copy(copy, &mut self.work(progress))
    }

    /// Starts a server that stays when this process ends; `progress` as in [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Those of `Standing::start`.
    pub fn start_standing(
        &self,
        wish: &StandingWish<'_>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Standing, Error> {
        Standing::start(wish, &mut self.work(progress))
    }

    /// Stops one of those.
    ///
    /// # Errors
    /// Those of `Standing::stop`.
    pub fn stop_standing(&self, name: &str, progress: &mut dyn FnMut(Step)) -> Result<Standing, Error> {
        Standing::stop(name, &mut self.work(progress))
    }

    /// Every server that is available; the user's own entries first.
    ///
    /// # Errors
    /// [`Error::Catalogue`] if the user's file of entries is wrong.
    pub fn catalogue(&self) -> Result<Vec<Entry>, Error> {
        catalogue::all(self.places())
    }

    /// The entry of the catalogue that `name` means: its own name, or product and version as `mysql-5.7`.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], [`Error::Catalogue`].
    pub fn named(&self, name: &str) -> Result<Entry, Error> {
        search::named(name, self.places())
    }

    /// Fetches `entry` unless it is here; `progress` as in [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Those of `fetch::fetch`.
    pub fn fetch(&self, entry: &Entry, progress: &mut dyn FnMut(Step)) -> Result<Software, Error> {
        fetch::fetch(entry, &mut self.work(progress))
    }
}
