//! Tables that come with a physical copy of a server's data. The directory is only read: each server gets a
//! copy of it. Columns and rows are known once a server has started on its copy.

pub use crate::family::{Copied as Data, CopyError as Error};

use super::{Layout, Table, Undrawn};
use crate::{
    family::{self, CopyKind},
    language::{Language, say},
    quantity::show_size_about,
};
use load::spec::{Distribution, Draw};
use std::path::Path;

/// What is in a directory; statements work in `database`, which need not be named where there is one.
///
/// # Errors
/// See [`Error`].
pub fn read(copy: &Path, database: Option<&str>) -> Result<Data, Error> {
    family::spoken().read_copy(copy, database)
}

impl Layout for Data {
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }

    fn about(&self, language: Language) -> String {
        let kind = match self.kind {
            CopyKind::Stopped => {
                language.either("the data directory of a stopped server", "已停止的服务器的数据目录")
            }
            CopyKind::Prepared => language.either("a prepared backup", "已准备（prepare）的备份"),
            CopyKind::Unprepared => {
                language.either("a backup that Prony prepares on its copy", "由 Prony 在副本上准备的备份")
            }
        };
        let (path, size) = (self.copy.display(), show_size_about(self.bytes));
        let Self { product, version, database, .. } = self;
        say!(
            language,
            "a copy of {path} ({kind}, {product} {version}, {size}), database {database}; a server of a \
             newer series upgrades its copy",
            "{path} 的副本（{kind}，{product} {version}，{size}），数据库 {database}；更新系列的服务器会升级副本",
        )
    }

    fn has_table(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.eq_ignore_ascii_case(name))
    }

    fn table_names(&self) -> Vec<String> {
        self.tables.clone()
    }

    fn columns(&self, _table: &str) -> Option<Vec<String>> {
        None
    }

    fn draw(&self, table: &str, _column: &str, _distribution: Distribution) -> Result<Draw, Undrawn> {
        Err(if self.has_all && !self.has_table(table) { Undrawn::NoTable } else { Undrawn::Copied })
    }

    fn rows(&self) -> u64 {
        0
    }

    fn size_bytes(&self) -> u64 {
        self.bytes
    }

    fn has_unnamed(&self) -> bool {
        true
    }
}
