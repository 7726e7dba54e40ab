//! Prony puts database servers on a dynamometer. `ARCHITECTURE.md` shows the line that a study runs along:
//! study, plan, run (provision, dataset, load, telemetry), store, analyse, report. Data flows down that line;
//! each module uses the types above it and knows nothing below.

pub mod analyse;
pub mod arrival;
pub mod audit;
pub mod calibrate;
pub mod cli;
pub mod dataset;
pub mod doctor;
pub mod escape;
pub mod export;
pub mod fairness;
pub mod family;
pub mod foreign;
pub mod language;
pub mod layout;
pub mod live;
pub mod loader;
pub mod mysqlslap;
pub mod network;
pub mod plan;
pub mod provision;
pub mod published;
pub mod quantity;
pub mod report;
pub mod run;
pub mod search;
pub mod serve;
pub mod sketch;
pub mod store;
pub mod study;
pub mod sysbench;
pub mod telemetry;
pub mod workload;
