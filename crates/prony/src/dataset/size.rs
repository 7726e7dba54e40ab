//! How large a data set is on a server, as that server's own statistics estimate it.

use super::{Error, marks, session::Session};
use crate::layout::Layout;
use load::spec::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Size of a data set on one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Rows and the trees that they are in, bytes.
    pub data_bytes: u64,
    /// Secondary indexes, bytes.
    pub index_bytes: u64,
    /// The engine that really holds the tables, their row format and options: `MyISAM, Fixed`.
    pub form: String,
}

/// Asks the server for the size of a data set's tables; of one that a script has made, all tables of the
/// database that are not Prony's own.
///
/// # Errors
/// No connection, or the server does not say.
pub fn size(target: &Target, layout: &dyn Layout) -> Result<Size, Error> {
    let mut session = Session::open(target)?;
    let names = if layout.has_unnamed() { marks::unnamed(&mut session)? } else { layout.table_names() };
    let sizes =
        session.about("SELECT", "sizes of tables", |family, control| family.sizes(control, &names))?;
    let forms: BTreeSet<&str> = sizes.iter().map(|size| size.form.as_str()).collect();
    Ok(Size {
        data_bytes: sizes.iter().map(|size| size.data_bytes).sum(),
        index_bytes: sizes.iter().map(|size| size.index_bytes).sum(),
        form: forms.into_iter().collect::<Vec<_>>().join("; "),
    })
}
