//! The door to Slack from outside: signed requests to its router, a socket, and a server that
//! speaks the Web API and records.

mod emulated;
mod events;
mod fake;
mod office;
mod sockets;
mod talks;
