-- Times are ISO 8601 in UTC, points exact decimals. `sqlite3 DIR/class.db` answers questions by hand.
CREATE TABLE class (  -- edition and release (those that count), regrade (the open one), imported
  key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sources (  -- where submissions were read
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, read_at TEXT NOT NULL);
CREATE TABLE submissions (
  id TEXT PRIMARY KEY,
  source INTEGER REFERENCES sources,  -- NULL: it was only previewed or compared, and never counts
  location TEXT NOT NULL,  -- the name of its file or folder in the source
  submitted TEXT,
  late INTEGER NOT NULL,  -- whether the platform marked it as late
  attempt INTEGER NOT NULL,
  number INTEGER NOT NULL,  -- the platform's number of the upload, which grows; 0: unknown
  note TEXT NOT NULL);  -- what is wrong with its files; '' if nothing is
CREATE TABLE students (  -- the roll
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  email TEXT, sid TEXT, canvas_id TEXT, moodle_id TEXT, login TEXT);
CREATE TABLE authors (
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE,
  student INTEGER NOT NULL REFERENCES students ON DELETE CASCADE,
  latest INTEGER NOT NULL DEFAULT 1,  -- whether it is the one that counts for this student
  PRIMARY KEY (submission, student));
CREATE INDEX submissions_of ON authors (student);
CREATE TABLE releases (
  id TEXT PRIMARY KEY,  -- its name and digits of the packed autograder's SHA-256
  edition TEXT NOT NULL, digest TEXT NOT NULL, title TEXT NOT NULL, judged_at TEXT NOT NULL,
  description TEXT NOT NULL);  -- JSON
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE,
  release TEXT NOT NULL,
  kind TEXT NOT NULL,  -- 'grade', 'preview', 'regrade-N' or 'gradescope'
  outcome TEXT NOT NULL CHECK (outcome IN ('graded', 'nothing to grade', 'staff fault')),
  score TEXT, max_score TEXT,  -- NULL: a staff fault
  reason TEXT NOT NULL,
  seed TEXT NOT NULL, upload TEXT NOT NULL,  -- the digest of what was graded; '': unknown
  took_s REAL NOT NULL, processor TEXT NOT NULL, at TEXT NOT NULL,
  results TEXT,  -- the JSON that the autograder wrote for staff; NULL: a staff fault
  UNIQUE (submission, release, kind));
CREATE TABLE tests (  -- derived from `results`
  record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE,
  test_id TEXT NOT NULL, question TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  outcome TEXT NOT NULL, cause TEXT NOT NULL, score TEXT NOT NULL, max_score TEXT NOT NULL,
  practice INTEGER NOT NULL,  -- whether its question is worth nothing
  extra INTEGER NOT NULL,  -- whether it is extra credit
  wall_s REAL NOT NULL, cpu_s REAL NOT NULL, peak_bytes INTEGER NOT NULL,
  PRIMARY KEY (record, test_id)) WITHOUT ROWID;
CREATE TABLE counted (  -- the record that counts for a submission
  submission TEXT PRIMARY KEY REFERENCES submissions ON DELETE CASCADE,
  record INTEGER NOT NULL UNIQUE REFERENCES records ON DELETE CASCADE);
CREATE TABLE decisions (  -- what staff decided about students, from `decide FILE.csv`
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,  -- 'override', 'extension', 'excuse', 'withheld', 'late_days' or 'same_as'
  student TEXT NOT NULL,  -- as it was written
  question TEXT, value TEXT, reason TEXT, author TEXT, date TEXT,
  place TEXT);  -- file and line
CREATE TABLE written (  -- scores of written answers, from Gradescope's CSV
  place TEXT NOT NULL,  -- file and line: one for each student
  name TEXT NOT NULL, sid TEXT NOT NULL, email TEXT NOT NULL, submission TEXT NOT NULL,
  status TEXT NOT NULL,  -- why there is no score; '' if there is one, or nothing was handed in
  submitted TEXT,
  question TEXT NOT NULL,  -- Gradescope's number; 'written': all; '': there is no score
  title TEXT NOT NULL, score TEXT, max_score TEXT);
CREATE TABLE history (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, release TEXT,
  reason TEXT, author TEXT);
CREATE VIEW scores AS  -- one line for each student and submission that counts for the student
  SELECT students.name, students.email, students.sid, submissions.id AS submission,
    submissions.submitted, submissions.late, coalesce(records.outcome, 'not graded') AS outcome,
    records.score, records.max_score, records.reason, records.release, records.id AS record
  FROM students JOIN authors ON authors.student = students.id AND authors.latest
  JOIN submissions ON submissions.id = authors.submission
  LEFT JOIN counted ON counted.submission = submissions.id
  LEFT JOIN records ON records.id = counted.record;
PRAGMA user_version = 2;
