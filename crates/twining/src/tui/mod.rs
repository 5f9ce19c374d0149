//! `twining top`: what waits for a person, who is at work and the stream, in a terminal.
//!
//! `state.rs` is the model: events in, requests out. `view/` draws it. `memory_reader.rs` carries
//! requests out through the verbs, `event_loop.rs` waits for keys, signals and changes, and
//! `screen.rs` owns the terminal and gives it back whatever happens.

mod age;
mod answer_form;
mod event_loop;
pub(crate) mod headless;
mod key_actions;
mod key_decoder;
mod layout;
mod list_window;
mod memory_reader;
mod offered_act;
mod screen;
mod state;
mod stream_row;
#[cfg(test)]
mod tests;
mod theme;
pub(crate) mod top_command;
mod top_session;
mod view;
