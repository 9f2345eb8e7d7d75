"""From anybody's robot file to a robot that lagoon knows: read it, draft a description, check the result."""
