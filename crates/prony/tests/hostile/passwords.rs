//! Servers that want the password itself.

use crate::{
    program::Home,
    server::{Answer, Fault, Hostile},
};

const PASSWORD: &str = "a-password-of-some-length";
const NONCE: &[u8] = b"ABCDEFGHIJKLMNOPQRST\0";

fn holds(heard: &[u8], what: &[u8]) -> bool {
    heard.windows(what.len()).any(|window| window == what)
}

#[test]
fn a_switch_to_a_plug_in_that_tells_the_password_gets_nothing_and_the_error_names_the_way_out() {
    let home = Home::new();
    for (plugin, way_out) in [
        ("mysql_clear_password", "--cleartext-password"),
        ("sha256_password", "--get-server-public-key"),
        ("caching_sha2_password", "--get-server-public-key"),
    ] {
        let server = Hostile::new(Fault::Switches(plugin.as_bytes(), NONCE.to_vec()));
        let url = server.url();
        for command in [&["load", "oltp_point_select"][..], &["prepare", "oltp_point_select", "--rows=10"]] {
            let arguments = [command, &["--url", &url]].concat();
            let mut command = home.command(&arguments);
            let ended = crate::program::wait(crate::program::start(command.env("MYSQL_PWD", PASSWORD)));
            assert_eq!(ended.code, Some(2), "{}", ended.said());
            for word in [plugin, way_out, "ssl-mode=verify_ca"] {
                assert!(ended.said().contains(word), "{plugin}: no {word} in {}", ended.said());
            }
            assert!(!ended.said().contains(PASSWORD));
        }
        assert!(!holds(&server.heard(), PASSWORD.as_bytes()), "{plugin}");
        // the request for a key, which an encrypted password would follow
        assert!(server.heard().len() < 1000, "{plugin}: nothing but logins was sent");
    }
}

#[test]
fn what_the_user_allows_is_sent() {
    let home = Home::new();
    let clear = Hostile::new(Fault::Switches(b"mysql_clear_password", Vec::new()));
    let by_flag =
        ["load", "oltp_point_select", "--cleartext-password", "--url", &clear.url()].map(str::to_owned);
    let by_url = ["load", "oltp_point_select", "--url", &format!("{}?cleartext-password=1", clear.url())]
        .map(str::to_owned);
    for (number, arguments) in [&by_flag[..], &by_url].into_iter().enumerate() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = home.command(&arguments);
        crate::program::wait(crate::program::start(command.env("MYSQL_PWD", PASSWORD)));
        let heard = clear.heard();
        let times = heard.windows(PASSWORD.len()).filter(|window| *window == PASSWORD.as_bytes()).count();
        assert_eq!(times, number + 1, "{arguments:?}");
    }
    let key = Hostile::new(Fault::Switches(b"caching_sha2_password", NONCE.to_vec()));
    let arguments = ["load", "oltp_point_select", "--get-server-public-key", "--url", &key.url()];
    crate::program::wait(crate::program::start(home.command(&arguments).env("MYSQL_PWD", PASSWORD)));
    let heard = key.heard();
    assert!(heard.len() > 256 && !holds(&heard, PASSWORD.as_bytes()), "encrypted: {}", heard.len());
}

#[test]
fn plan_and_run_say_once_who_gets_a_password_that_is_not_the_studys() {
    let home = Home::new();
    let server = Hostile::answering(|_| Answer::Error(1105, "no".to_owned()));
    let study = |url: &str| {
        format!(
            "title = \"t\"\n[server.far]\nurl = \"{url}\"\n[data]\nrows = 10\n[[stream]]\n\
             workload = \"oltp_point_select\"\nconnections = 1\n"
        )
    };
    home.file("study.toml", &study(&server.url()));
    let told = format!("the password in MYSQL_PWD will be used to log in to {}", server.address());
    for command in ["plan", "run"] {
        let mut with = home.command(&[command, "study.toml"]);
        let said = crate::program::wait(crate::program::start(with.env("MYSQL_PWD", PASSWORD))).said();
        assert_eq!(said.matches(&told).count(), 1, "{command}: {said}");
        let said = home.prony(&[command, "study.toml"]).said();
        assert!(!said.contains("will be used to log in"), "{command}: {said}");
        // the user's own option file names the server
        let address = server.address();
        home.file(
            ".my.cnf",
            &format!("[client]\nhost={}\nport={}\npassword=x\n", address.ip(), address.port()),
        );
        let said = home.prony(&[command, "study.toml"]).said();
        assert!(!said.contains("will be used to log in"), "{command}: {said}");
        std::fs::remove_file(home.path().join(".my.cnf")).expect("a file");
    }
}
