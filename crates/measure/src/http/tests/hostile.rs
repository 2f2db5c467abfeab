//! Servers that answer nonsense, too much, too little, too slowly or not at all.
