# What manyfiles does on this Windows machine: its tests and its figures, in one text file that you can send.
#   powershell -ExecutionPolicy Bypass -File scripts\windows-report.ps1
# Needs Rust from https://rustup.rs. Writes manyfiles-report.txt beside this checkout's Cargo.toml, and a folder for
# measuring, which it removes. Nothing is sent anywhere.
$ErrorActionPreference = 'Continue'
Set-Location (Join-Path $PSScriptRoot '..')
$report = Join-Path (Get-Location) 'manyfiles-report.txt'
Set-Content -Path $report -Value "manyfiles on Windows, $(Get-Date -Format o)"

function Add-Section($title, $command) {
    Write-Host $title
    Add-Content -Path $report -Value "", "== $title"
    try {
        & $command 2>&1 | ForEach-Object { "$_" } | Add-Content -Path $report
        Add-Content -Path $report -Value "exit status: $LASTEXITCODE"
    } catch {
        Add-Content -Path $report -Value "failed: $_"
    }
}

Add-Section 'system' { Get-CimInstance Win32_OperatingSystem | Format-List Caption, Version, OSArchitecture | Out-String }
Add-Section 'volumes' { Get-Volume | Format-Table DriveLetter, FileSystem, DriveType, Size | Out-String }
Add-Section 'virus scanner' { Get-MpComputerStatus | Format-List RealTimeProtectionEnabled, AMProductVersion | Out-String }
Add-Section 'rust' { rustc --version --verbose }
Add-Section 'tests' { cargo test --no-fail-fast -p manyfiles -p manyfiles-archive -p manyfiles-cli -p manyfiles-testkit -p manyfiles-probe -p manyfiles-trace }

$folder = Join-Path $env:TEMP "manyfiles-report-$PID"
New-Item -ItemType Directory -Path $folder | Out-Null
Add-Section 'what files cost here' { cargo run --quiet --release -p manyfiles-cli -- probe $folder }
Remove-Item -Recurse -Force $folder

Write-Host "Done: $report"
