//! What is a claim and what is none; and stories on small repositories.

mod claims;
mod records;
mod repositories;
