"""Sentences that boards store in English: `messages` says them in the language of the reader, `marked` lists them."""
