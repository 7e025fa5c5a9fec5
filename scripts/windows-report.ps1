# What manyfiles does on this Windows machine: its tests and its figures, in one text file that you can send.
#   powershell -ExecutionPolicy Bypass -File scripts\windows-report.ps1
# Needs Rust from https://rustup.rs. Writes manyfiles-report.txt beside this checkout's Cargo.toml, and a folder for
# measuring, which it removes. Nothing is sent anywhere.
$ErrorActionPreference = 'Continue'
Set-Location (Join-Path $PSScriptRoot '..')
$report = Join-Path (Get-Location) 'manyfiles-report.txt'
Set-Content -Path $report -Encoding UTF8 -Value "manyfiles on Windows, $(Get-Date -Format o)"

function Add-Section($title, $command) {
    Write-Host $title
    Add-Content -Path $report -Encoding UTF8 -Value '', "== $title"
    # Only a program sets it: what PowerShell itself asks the system leaves it as it is.
    $global:LASTEXITCODE = $null
    try {
        & $command 2>&1 | ForEach-Object { "$_" } | Add-Content -Path $report -Encoding UTF8
        if ($null -ne $global:LASTEXITCODE) {
            Add-Content -Path $report -Encoding UTF8 -Value "exit status: $global:LASTEXITCODE"
        }
    } catch {
        # A program that is not installed, say.
        Add-Content -Path $report -Encoding UTF8 -Value "failed: $_"
    }
}

Add-Section 'system' {
    Get-CimInstance Win32_OperatingSystem |
        Format-List -Property @('Caption', 'Version', 'OSArchitecture') | Out-String
}
Add-Section 'volumes' {
    Get-Volume |
        Format-Table -Property @('DriveLetter', 'FileSystem', 'DriveType', 'Size') | Out-String
}
Add-Section 'virus scanner' {
    Get-MpComputerStatus |
        Format-List -Property @('RealTimeProtectionEnabled', 'AMProductVersion') | Out-String
}
Add-Section 'rust' { rustc --version --verbose }
# An array is one argument for each of its parts.
$packages = @('manyfiles', 'manyfiles-archive', 'manyfiles-cli', 'manyfiles-testkit', 'manyfiles-probe',
    'manyfiles-trace')
$chosen = $packages | ForEach-Object { '-p'; $_ }
Add-Section 'tests' { cargo test --no-fail-fast $chosen }

$folder = Join-Path $env:TEMP "manyfiles-report-$PID"
New-Item -ItemType Directory -Path $folder | Out-Null
Add-Section 'what files cost here' { cargo run --quiet --release -p manyfiles-cli '--' probe $folder }
Remove-Item -Recurse -Force $folder

Write-Host "Done: $report"
