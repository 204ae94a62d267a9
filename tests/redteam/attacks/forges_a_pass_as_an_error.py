# tries: to report an exception whose outcome is `passed`
send(report(message="PWNED", type="passed"))
