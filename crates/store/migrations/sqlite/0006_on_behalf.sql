-- For whom an entry was written: user, key and version of the grants, covered by its digest. Older entries do not say.
ALTER TABLE journal_entry ADD COLUMN on_behalf TEXT;
