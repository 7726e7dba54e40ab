//! Which cluster, and who one is there: what `kubectl` would use (KUBECONFIG, `~/.kube/config`), else the
//! service account of the pod in which Prony runs.

use super::Error;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use load::{https::Endpoint, tls::Authorities};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use url::Url;

/// Where a pod finds its service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Authorities that the system trusts, where distributions have them.
const SYSTEM: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// A cluster and a login to it.
pub(super) struct Cluster {
    /// How messages call it.
    pub(super) address: String,
    pub(super) endpoint: Endpoint,
    /// Before every path; mostly empty.
    pub(super) prefix: String,
    pub(super) token: Token,
    /// Where things are created if nothing else is said.
    pub(super) namespace: String,
    /// Whether Prony runs in it, in that namespace.
    pub(super) is_own: bool,
}

/// What says who one is, if the certificate does not.
pub(super) enum Token {
    None,
    Text(String),
    /// It is replaced now and then.
    File(PathBuf),
}

fn wrong(cause: impl Into<String>) -> Error {
    Error::NoCluster { cause: cause.into() }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))
}

/// The cluster that is meant.
pub(super) fn cluster() -> Result<Cluster, Error> {
    let files: Vec<PathBuf> = match env::var_os("KUBECONFIG").filter(|value| !value.is_empty()) {
        Some(list) => env::split_paths(&list).collect(),
        None => env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    };
    let found: Vec<&PathBuf> = files.iter().filter(|path| path.is_file()).collect();
    if found.is_empty() {
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        return in_cluster().unwrap_or_else(|| {
            Err(wrong(format!(
                "there is no kubeconfig ({}), and Prony does not run in a pod with a service account; set \
                 KUBECONFIG",
                names.join(", ")
            )))
        });
    }
    let parsed = found.into_iter().map(|path| Ok((path.clone(), parse(path)?)));
    Kubeconfig(parsed.collect::<Result<_, Error>>()?).cluster()
}

/// `None`: this is no pod with a service account.
fn in_cluster() -> Option<Result<Cluster, Error>> {
    let (host, port) = (env::var("KUBERNETES_SERVICE_HOST").ok()?, env::var("KUBERNETES_SERVICE_PORT").ok()?);
    let account = Path::new(ACCOUNT);
    let cluster = || {
        let port = port.parse().map_err(|_| wrong(format!("KUBERNETES_SERVICE_PORT is `{port}`")))?;
        let authority = read(&account.join("ca.crt"))?;
        let endpoint = Endpoint::tls((&host, port), None, Authorities::These(&authority), None)
            .map_err(|error| wrong(error.to_string()))?;
        let namespace = String::from_utf8_lossy(&read(&account.join("namespace"))?).trim().to_owned();
        let address = format!("https://{host}:{port}");
        let token = Token::File(account.join("token"));
        Ok(Cluster { address, endpoint, prefix: String::new(), token, namespace, is_own: true })
    };
    account.join("token").is_file().then(cluster)
}

fn parse(path: &Path) -> Result<Value, Error> {
    serde_yaml_ng::from_slice(&read(path)?)
        .map_err(|error| wrong(format!("{} is no kubeconfig: {error}", path.display())))
}

/// Files with what they hold; the first that has something wins.
struct Kubeconfig(Vec<(PathBuf, Value)>);

impl Kubeconfig {
    /// The entry of a list by its name, with the file that it stands in.
    fn entry(&self, list: &str, kind: &str, name: &str) -> Result<(&Path, &Value), Error> {
        let mut all = self.0.iter().flat_map(|(path, file)| {
            let entries = file.get(list).and_then(Value::as_array).into_iter().flatten();
            entries.map(move |entry| (path.as_path(), entry))
        });
        let found = all.find(|(_, entry)| entry["name"] == name);
        let found = found.and_then(|(path, entry)| Some((path, entry.get(kind)?)));
        found.ok_or_else(|| wrong(format!("the kubeconfig has no {kind} `{name}`")))
    }

    fn cluster(&self) -> Result<Cluster, Error> {
        let mut current = self.0.iter().filter_map(|(_, file)| file["current-context"].as_str());
        let name = current.find(|name| !name.is_empty()).ok_or_else(|| {
            wrong("the kubeconfig has no current context: `kubectl config use-context NAME` sets it")
        })?;
        let (_, context) = self.entry("contexts", "context", name)?;
        let text = |key: &str| context[key].as_str().unwrap_or_default();
        let (cluster_file, cluster) = self.entry("clusters", "cluster", text("cluster"))?;
        let (user_file, user) = self.entry("users", "user", text("user"))?;
        let namespace =
            Some(text("namespace")).filter(|text| !text.is_empty()).unwrap_or("default").to_owned();
        let address = cluster["server"].as_str().unwrap_or_default().to_owned();
        let url = Url::parse(&address).ok().filter(|url| url.has_host());
        let url =
            url.ok_or_else(|| wrong(format!("the server of context `{name}` is `{address}`, no URL")))?;
        if cluster["proxy-url"].is_string() {
            return Err(wrong("the kubeconfig names a proxy (`proxy-url`), which Prony cannot use"));
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(443);
        let (own, token) = login(user_file, user, cluster)?;
        let endpoint = if url.scheme() == "http" {
            Endpoint::plain(host, port)
        } else {
            let authority = data(cluster_file, cluster, "certificate-authority")?;
            let is_open = cluster["insecure-skip-tls-verify"] == true;
            let authority = if is_open { Vec::new() } else { authority.map_or_else(system, Ok)? };
            let trust = if is_open { Authorities::Anybody } else { Authorities::These(&authority) };
            let own = own.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
            let name = cluster["tls-server-name"].as_str();
            Endpoint::tls((host, port), name, trust, own).map_err(|error| wrong(error.to_string()))?
        };
        let prefix = url.path().trim_end_matches('/').to_owned();
        Ok(Cluster { address, endpoint, prefix, token, namespace, is_own: false })
    }
}

/// What stands in a kubeconfig in base64 (`KEY-data`), or in a file beside it.
fn data(file: &Path, of: &Value, key: &str) -> Result<Option<Vec<u8>>, Error> {
    if let Some(text) = of[format!("{key}-data")].as_str() {
        let bytes = STANDARD.decode(text.trim());
        return bytes.map(Some).map_err(|_| wrong(format!("`{key}-data` in the kubeconfig is no base64")));
    }
    let path = of[key].as_str().filter(|path| !path.is_empty());
    path.map(|path| read(&file.parent().unwrap_or(Path::new("")).join(path))).transpose()
}

fn system() -> Result<Vec<u8>, Error> {
    let found = SYSTEM.iter().find_map(|path| fs::read(path).ok());
    found.ok_or_else(|| wrong("the kubeconfig names no certificate authority, and this system has none"))
}

/// A certificate and its key (PEM).
type Own = Option<(Vec<u8>, Vec<u8>)>;

fn login(file: &Path, user: &Value, cluster: &Value) -> Result<(Own, Token), Error> {
    if user["exec"].is_object() {
        return by_program(file, &user["exec"], cluster);
    }
    let own = data(file, user, "client-certificate")?.zip(data(file, user, "client-key")?);
    let token = match (user["token"].as_str(), user["tokenFile"].as_str()) {
        (Some(text), _) => Token::Text(text.to_owned()),
        (None, Some(path)) => Token::File(file.parent().unwrap_or(Path::new("")).join(path)),
        (None, None) => Token::None,
    };
    Ok((own, token))
}

/// Asks a program who one is, as clouds do it (client.authentication.k8s.io).
fn by_program(file: &Path, exec: &Value, cluster: &Value) -> Result<(Own, Token), Error> {
    let program = exec["command"].as_str().unwrap_or_default();
    let failed =
        |cause: String| wrong(format!("`{program}`, which the kubeconfig names for the login, {cause}"));
    // a path is one from the file's directory, a name is looked up
    let directory = file.parent().filter(|_| program.contains('/')).unwrap_or(Path::new(""));
    let mut command = Command::new(directory.join(program));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    command.args(list(&exec["args"]).iter().filter_map(Value::as_str));
    for variable in list(&exec["env"]) {
        if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
            command.env(name, value);
        }
    }
    let asked = json!({
        "apiVersion": exec["apiVersion"],
        "kind": "ExecCredential",
        "spec": { "interactive": false, "cluster": { "server": cluster["server"] } },
    });
    command.env("KUBERNETES_EXEC_INFO", asked.to_string()).stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(format!("cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("failed ({}): {}", output.status, said.trim())));
    }
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("printed something else than a credential: {error}")))?;
    let status = &answer["status"];
    let pem = |key: &str| status[key].as_str().map(|text| text.as_bytes().to_vec());
    let token = status["token"].as_str().map_or(Token::None, |text| Token::Text(text.to_owned()));
    Ok((pem("clientCertificateData").zip(pem("clientKeyData")), token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cluster of a kubeconfig with this cluster and this user, in a directory with these files.
    fn cluster(cluster: &str, user: &str, files: &[(&str, &str)]) -> Result<Cluster, Error> {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let text = format!(
            r"
current-context: one
contexts:
- {{name: other, context: {{cluster: x}}}}
- name: one
  context:
    cluster: c
    user: u
    namespace: load
clusters:
- name: c
  cluster: {{{cluster}}}
users:
- name: u
  user: {{{user}}}
"
        );
        let path = home.path().join("config");
        fs::write(&path, text).unwrap();
        let file = parse(&path)?;
        Kubeconfig(vec![(path, file)]).cluster()
    }

    fn wrong(found: Result<Cluster, Error>) -> String {
        found.err().expect("a mistake").to_string()
    }

    #[test]
    fn a_kubeconfig_says_where_and_who() {
        let open = "server: 'https://10.0.0.1:6443/k/', insecure-skip-tls-verify: true";
        let found = cluster(open, "token: abc", &[]).unwrap();
        assert_eq!((&*found.address, &*found.prefix), ("https://10.0.0.1:6443/k/", "/k"));
        assert_eq!(found.namespace, "load");
        assert!(matches!(found.token, Token::Text(text) if text == "abc"));
        assert!(!found.is_own);
        let proxied = cluster("server: 'http://127.0.0.1:8001'", "name: x", &[]);
        assert!(matches!(proxied.unwrap().token, Token::None));
        let credential = r#"{"status": {"token": "from a program"}}"#;
        let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [/dev/stdin]}";
        assert!(wrong(cluster(open, exec, &[])).contains("printed something else than a credential"));
        let exec = format!("exec: {{command: echo, args: ['{credential}']}}");
        assert!(
            matches!(cluster(open, &exec, &[]).unwrap().token, Token::Text(text) if text == "from a program")
        );
    }

    #[test]
    fn what_is_wrong_with_a_kubeconfig_is_said() {
        let open = "server: 'https://10.0.0.1:6443', insecure-skip-tls-verify: true";
        for (place, user, words) in [
            ("server: nowhere", "token: a", "`nowhere`, no URL"),
            ("server: 'https://a', certificate-authority: none", "token: a", "none: No such file"),
            ("server: 'https://a', certificate-authority-data: '?'", "token: a", "is no base64"),
            ("server: 'https://a', proxy-url: 'http://b'", "token: a", "`proxy-url`"),
            (open, "exec: {command: /no/such/program}", "cannot be run"),
            (open, "exec: {command: 'false'}", "failed (exit status: 1)"),
        ] {
            let told = wrong(cluster(place, user, &[]));
            assert!(told.starts_with("no Kubernetes cluster: ") && told.contains(words), "{told}");
        }
        let made = super::super::super::certificates::pair("a").unwrap();
        let authority = ("ca.pem", &*made[0][0].1);
        let beside = "server: 'https://a', certificate-authority: ca.pem";
        assert!(cluster(beside, "token: a", &[authority]).is_ok(), "files are beside the kubeconfig");
    }
}
