mod check;
mod retrieve;
